import { EventEmitter, on } from 'node:events'
import { Message, StreamResponse, Task, TaskState } from '@a2a-js/sdk'
import type { Shelf } from '@svc/sdk/store/shelf.ts'
import type { Outgoing } from './outbox.ts'
import { changesBetween, historyOf, isEnded, rejected } from './task-states.ts'
import type { Json, Wire } from './wire.ts'

type State = Omit<Extract<Wire, { kind: 'state' }>, 'kind'>

/** The service has refused a message. */
export interface Refusal {
  /** Error code of the service. Empty if something else has refused. */
  readonly code: string
  readonly message: string
}

/** A message to the remote agent, and what came of it. */
interface Turn {
  readonly messageId: string
  readonly atMs: number
  /** Messages that are perhaps not in the outbox yet. */
  outgoing: readonly Outgoing[]
  /** The number of the last state. */
  seq: number
  over: boolean
  refusal?: Refusal
  /** The agent answered with a message instead of a task. */
  reply?: Json
}

export interface TaskRecord {
  readonly contact: string
  readonly atMs: number
  task: Json
  /** By id, the newest last. */
  readonly turns: Record<string, Turn>
  pushes: readonly Json[]
}

/** Stream responses of a turn, in order, and whether it is over with them. */
export interface Change {
  readonly task: string
  readonly turn: string
  readonly responses: readonly StreamResponse[]
  readonly over: boolean
}
type Changes = AsyncIterable<[Change]>

/** A message of the service lives for 30 days, so no answer comes later. */
const ANSWERED_MS = 31 * 24 * 3_600_000
/** How long tasks are kept. */
export const KEPT_MS = 2 * ANSWERED_MS

/** The tasks that local clients have given to remote agents. Every change is in the store before anybody sees it. */
export class TaskBook {
  readonly #shelf: Shelf<TaskRecord>
  readonly #emitter = new EventEmitter<{ change: [Change] }>().setMaxListeners(0)

  constructor(shelf: Shelf<TaskRecord>) {
    this.#shelf = shelf
  }

  /** @returns undefined if this contact has no such task. */
  find(contact: string, id: string): Task | undefined {
    const record = this.#shelf.get(id)
    return record?.contact === contact ? taskIn(record) : undefined
  }

  findTurn(contact: string, id: string): (Turn & { readonly task: Task }) | undefined {
    const record = this.#recordOf(id)
    const turn = record?.turns[id]
    return turn !== undefined && record?.contact === contact ? { ...turn, task: taskIn(record) } : undefined
  }

  list(contact: string): Task[] {
    return this.#shelf.entries.flatMap(([, record]) => (record.contact === contact ? [taskIn(record)] : []))
  }

  /** Adds a turn, unless it is there. A new task begins with its first turn. @param taskOf the task with the new message. */
  begin(
    { contact, turn: id, task, push }: { contact: string; turn: string; task: string; push: Json | undefined },
    turn: Pick<Turn, 'messageId' | 'outgoing'>,
    taskOf: (before: Task | undefined) => Task,
  ): Promise<void> {
    return this.#change(task, (found) => {
      const record = found ?? { contact, atMs: Date.now(), task: {}, turns: {}, pushes: [] }
      const known = record.turns[id]
      if (known !== undefined && known.refusal === undefined) return undefined
      record.task = Task.toJSON(taskOf(found && known === undefined ? Task.fromJSON(found.task) : undefined)) as Json
      if (push !== undefined) record.pushes = [...record.pushes, push]
      delete record.turns[id]
      record.turns[id] = { ...turn, atMs: Date.now(), seq: 0, over: false }
      return record
    })
  }

  /** Turns whose messages an earlier process has perhaps not put into the outbox. */
  get unposted(): { readonly task: string; readonly turn: string; readonly outgoing: readonly Outgoing[] }[] {
    const all = this.#shelf.entries.flatMap(([task, { turns }]) =>
      Object.entries(turns).map(([turn, { outgoing }]) => ({ task, turn, outgoing })),
    )
    return all.filter(({ outgoing }) => outgoing.length > 0)
  }

  /** The outbox has the messages of the turn. */
  posted(task: string, id: string): Promise<void> {
    return this.#change(task, (record) => {
      Object.assign(record?.turns[id] ?? {}, { outgoing: [] })
      return record
    })
  }

  /** The service has refused the turn's message. A new task is rejected with it, and an older one stays as it was. */
  refuse(id: string, refusal: Refusal): Promise<void> {
    return this.#turn(undefined, id, (record, turn) => {
      Object.assign(turn, { refusal, over: true, outgoing: [] })
      const before = Task.fromJSON(record.task)
      if (Object.keys(record.turns)[0] === id) return rejected(before, `${id}-refused`, refusal.message)
      return { ...before, history: before.history.filter(({ messageId }) => messageId !== turn.messageId) }
    })
  }

  /** Takes the state of a turn that the contact has sent. Ignores one that is older than the known one. */
  apply(contact: string, { turn: id, seq, last, response }: State): Promise<void> {
    return this.#turn(contact, id, (record, turn) => {
      if (seq <= turn.seq) return undefined
      turn.seq = seq
      // A turn that is over can still be cancelled.
      turn.over ||= last
      const before = Task.fromJSON(record.task)
      if (newestOf(record) !== id) return before
      const { payload } = StreamResponse.fromJSON(response)
      if (payload?.$case === 'message') {
        const reply = { ...payload.value, taskId: '', contextId: before.contextId }
        turn.reply = Message.toJSON(reply) as Json
        return { ...before, status: { state: TaskState.TASK_STATE_COMPLETED, message: reply, timestamp: undefined } }
      }
      if (payload?.$case !== 'task') return before
      const { artifacts, ...after } = payload.value
      const kept = last || artifacts.length > 0 ? artifacts : before.artifacts
      return {
        ...after,
        id: before.id,
        contextId: before.contextId,
        artifacts: kept,
        history: historyOf(record.turns, before, after),
      }
    })
  }

  /** The turn ends without a result. */
  fail(contact: string, id: string, reason: string): Promise<void> {
    return this.#turn(contact, id, (record, turn) => {
      if (turn.over) return undefined
      turn.over = true
      const before = Task.fromJSON(record.task)
      return newestOf(record) !== id || isEnded(before) ? before : rejected(before, `${id}-failed`, reason)
    })
  }

  pushesOf(task: string): readonly Json[] {
    return this.#shelf.get(task)?.pushes ?? []
  }

  setPushes(task: string, pushes: readonly Json[]): Promise<void> {
    return this.#change(task, (record) => record && { ...record, pushes })
  }

  /** All changes from this call on, until the signal aborts. */
  changes(signal: AbortSignal): Changes {
    return on(this.#emitter, 'change', { signal }) as Changes
  }

  watch(watcher: (change: Change) => void): void {
    this.#emitter.on('change', watcher)
  }

  #recordOf(turn: string): TaskRecord | undefined {
    const [id] = this.#shelf.entries.find(([, { turns }]) => Object.hasOwn(turns, turn)) ?? []
    return id === undefined ? undefined : this.#shelf.get(id)
  }

  /**
   * Changes one turn.
   * @param contact undefined if the turn may belong to any contact.
   * @param work returns the task afterwards; undefined changes nothing.
   */
  async #turn(contact: string | undefined, id: string, work: (record: TaskRecord, turn: Turn) => Task | undefined) {
    const found = this.#recordOf(id)
    const task = found?.task.id
    if (typeof task !== 'string' || (contact !== undefined && found?.contact !== contact)) return
    await this.#change(task, (record) => {
      const turn = record?.turns[id]
      if (record === undefined || turn === undefined) return undefined
      const before = Task.fromJSON(record.task)
      const after = work(record, turn)
      if (after === undefined) return undefined
      record.task = Task.toJSON(after) as Json
      const reply = turn.reply && Message.fromJSON(turn.reply)
      const responses: StreamResponse[] = reply
        ? [{ payload: { $case: 'message', value: reply } }]
        : changesBetween(before, after)
      return [record, { task, turn: id, responses, over: turn.over }]
    })
  }

  /** @param work returns the record to keep, and what others are told. */
  async #change(
    id: string,
    work: (record: TaskRecord | undefined) => TaskRecord | [TaskRecord, Change] | undefined,
  ): Promise<void> {
    let change: Change | undefined
    await this.#shelf.change(id, (before) => {
      const result = work(before)
      if (!Array.isArray(result)) return result
      change = result[1]
      return result[0]
    })
    if (change !== undefined) this.#emitter.emit('change', change)
  }
}

/** Resolves when the condition holds after a change, or when the signal of the changes aborts. */
export async function until(changes: Changes, isTrue: () => boolean): Promise<void> {
  if (isTrue()) return
  try {
    for await (const _ of changes) if (isTrue()) return
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error
  }
}

/** A task is what this turn says. */
function newestOf({ turns }: TaskRecord): string | undefined {
  return Object.keys(turns).findLast((id) => turns[id]?.refusal === undefined)
}

function taskIn(record: TaskRecord): Task {
  const task = Task.fromJSON(record.task)
  const newest = record.turns[newestOf(record) ?? '']
  const isLate = newest?.over === false && newest.atMs < Date.now() - ANSWERED_MS
  if (isEnded(task) || !isLate) return task
  return rejected(task, `${task.id}-late`, 'no result came within 31 days')
}
