import { Role, StreamResponse, type Task } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Outbox } from './outbox.ts'
import type { Posted } from './pace.ts'
import type { InboundTurn, Turns } from './turns.ts'
import { encodeWire, type Json, type Piece, unitsOf, type Wire } from './wire.ts'

/** A state that is no result leaves out the artifacts if they cost more. */
const MAX_PROGRESS_UNITS = 4
const MAX_REASON_LENGTH = 1_000

/** Sends remote agents how their turns stand. */
export class Reports {
  readonly #turns: Turns
  readonly #outbox: Outbox

  constructor(turns: Turns, outbox: Outbox) {
    this.#turns = turns
    this.#outbox = outbox
  }

  /** Sends how a task stands, without what costs too much. A later state replaces it, so it does not wait for new units. */
  async progress(turn: InboundTurn, task: Task): Promise<Posted> {
    const whole = await this.#encode(turn, { ...task, history: [] }).catch(() => [])
    const isSmall = whole.length > 0 && unitsOf(whole) <= MAX_PROGRESS_UNITS
    const pieces = isSmall ? whole : await this.#encode(turn, { ...task, history: [], artifacts: [] })
    return { units: unitsOf(pieces), ...(await this.#send(turn, pieces, 'event')) }
  }

  /** Sends the last state, as the response. */
  async end(turn: InboundTurn, response: StreamResponse): Promise<void> {
    try {
      await this.#send(turn, encodeWire(await this.#state(turn, withoutRequests(response), true)), 'response')
      await this.#close(turn)
    } catch (error) {
      if (!(error instanceof RequestMalformedError)) throw error
      await this.refuse(turn, `the result is ${error.message}`)
    }
  }

  /** Sends that the turn has failed. */
  async refuse(turn: InboundTurn, reason: string): Promise<void> {
    const wire: Wire = { kind: 'refused', turn: turn.turn, reason: reason.slice(0, MAX_REASON_LENGTH) }
    await this.#send(turn, encodeWire(wire), 'error')
    await this.#close(turn)
  }

  async #encode(turn: InboundTurn, task: Task): Promise<Piece[]> {
    return encodeWire(await this.#state(turn, { payload: { $case: 'task', value: task } }, false))
  }

  /** The number goes up first, because the receiver ignores a second state with the same one. */
  async #state(turn: InboundTurn, response: StreamResponse, last: boolean): Promise<Wire> {
    const { seq } = await this.#turns.put(turn, (latest) => ({ seq: latest.seq + 1 }))
    return { kind: 'state', turn: turn.turn, seq, last, response: StreamResponse.toJSON(response) as Json }
  }

  async #close(turn: InboundTurn): Promise<void> {
    await this.#turns.put(turn, () => ({ over: true, request: {} }))
  }

  /** Resolves when everything is in the outbox. */
  #send({ turn, task, sender }: InboundTurn, pieces: readonly Piece[], type: 'event' | 'response' | 'error') {
    const to = { to: sender.name, threadId: task, isPatient: type !== 'event' }
    const answer = type === 'event' ? { type } : { type, replyTo: turn }
    return this.#outbox.add(
      pieces.map((body, at) => ({ ...to, body, ...(at === pieces.length - 1 ? answer : { type: 'event' as const }) })),
    )
  }
}

/** The other side has its own messages, so only their places are sent. */
function withoutRequests({ payload }: StreamResponse): StreamResponse {
  if (payload?.$case !== 'task') return { payload }
  const history = payload.value.history.map((one) => (one.role === Role.ROLE_USER ? { ...one, parts: [] } : one))
  return { payload: { $case: 'task', value: { ...payload.value, history } } }
}
