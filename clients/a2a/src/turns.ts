import type { Shelf } from '@svc/sdk/store/shelf.ts'
import type { Json } from './wire.ts'

/** A turn that a remote agent has begun: a message for the local agent. */
export interface InboundTurn {
  readonly turn: string
  /** The remote side's id of the task. */
  readonly task: string
  readonly sender: { readonly agentId: string; readonly name: string }
  /** Empty when the turn is over. */
  readonly request: Json
  readonly atMs: number
  /** The context that the local agent sees. Two remote agents never share one. */
  readonly context: string
  /** How often the message was perhaps given to the local agent. */
  readonly given: number
  readonly isCancelled: boolean
  /** The local agent's id of the task, once it is known. */
  readonly agentTask?: string
  /** The number of the last state that was perhaps sent. */
  readonly seq: number
  readonly over: boolean
}

/** The turns of remote agents. */
export class Turns {
  readonly #shelf: Shelf<InboundTurn>

  constructor(shelf: Shelf<InboundTurn>) {
    this.#shelf = shelf
  }

  /** Those that are not over. */
  get open(): InboundTurn[] {
    return this.#shelf.entries.flatMap(([, turn]) => (turn.over ? [] : [turn]))
  }

  has(sender: string, turn: string): boolean {
    return this.#shelf.get(`${sender}/${turn}`) !== undefined
  }

  /** The turns of a task, the newest last. */
  ofTask(sender: string, task: string): InboundTurn[] {
    const all = this.#shelf.entries.map(([, turn]) => turn)
    return all.filter((turn) => turn.sender.agentId === sender && turn.task === task)
  }

  latest(turn: InboundTurn): InboundTurn {
    return this.#shelf.get(`${turn.sender.agentId}/${turn.turn}`) ?? turn
  }

  /** Changes a turn, or adds it. */
  async put(
    turn: InboundTurn,
    change: (latest: InboundTurn) => Partial<InboundTurn> = () => ({}),
  ): Promise<InboundTurn> {
    const name = `${turn.sender.agentId}/${turn.turn}`
    return (await this.#shelf.change(name, (latest = turn) => ({ ...latest, ...change(latest) }))) ?? turn
  }
}
