/** For tests: a service and a store without a network, whose user can be killed at any effect. */
import type { Envelope, Event, Message, SignedEnvelope } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { ApiError, NetworkError } from '../src/errors.ts'
import type { StreamOptions } from '../src/events/event-stream.ts'
import { receivedOf } from '../src/messages/answer.ts'
import type { ConsumerDeps } from '../src/process/consumer.ts'
import { createMemoryStore, type Store } from '../src/store/store.ts'

/** What happens to a call. `lost`: it takes effect, but no answer comes. `old`: the envelope is refused as too old. */
export type Fault = 'none' | 'down' | 'lost' | 'limit' | 'pending' | 'old'

export interface ModelMessage {
  readonly sender: string
  readonly lane?: 'inbox' | 'requests'
  readonly type?: Envelope['type']
  /** As the sender spells it. Default `x`. */
  readonly authority?: 'x' | 'X'
}

const REFUSALS = {
  limit: { status: 429, code: 'budget_exhausted', message: 'no units', retryAfterSeconds: 3_600 },
  pending: { status: 409, code: 'request_pending', message: 'still pending' },
  old: { status: 400, code: 'envelope_timestamp_out_of_range', message: 'too old' },
  conflict: { status: 409, code: 'id_conflict', message: 'another message has this id' },
} as const

export class ModelService {
  readonly events: Event[] = []
  /** Accepted answers, in their order. */
  readonly answers: Envelope[] = []
  readonly acked = new Set<string>()
  readonly accepted = new Set<string>()
  readonly store: Store = createMemoryStore()
  readonly faults: Fault[] = []
  /** How long every wait takes. */
  sleepMs = 0
  /** Whose answers are refused as long as they have not accepted the agent. */
  unreachable = (_: Envelope): boolean => false
  #composed = 0

  constructor(messages: readonly ModelMessage[]) {
    for (const message of messages) this.receive(message)
  }

  receive({ sender, lane = 'inbox', type = 'request', authority = 'x' }: ModelMessage): Message {
    const cursor = this.events.length + 1
    const envelope = {
      id: `message-${cursor}`,
      from: `${sender}@${authority}`,
      to: 'me@x',
      type,
      ts: '',
      body: cursor,
      sig: '',
    }
    const message = { envelope, lane, created_at: 0, expires_at: 0, acked: false, upvotes: 0 }
    this.events.push({ cursor, kind: lane, message })
    return message
  }

  /** One life of a process. `effects`: it is killed at this effect, before or after it takes place. */
  live(
    effects = Number.POSITIVE_INFINITY,
    isAfter = false,
  ): { deps: ConsumerDeps; store: Store; killed: Promise<void>; kill: () => void } {
    let left = effects
    let kill = (): void => undefined
    const killed = new Promise<void>((resolve) => {
      kill = () => {
        left = 0
        resolve()
      }
    })
    const never = new Promise<never>(() => undefined)
    /** A dead process never goes on. */
    const effect = async <T>(take: () => Promise<T>): Promise<T> => {
      left -= 1
      if (left < 0) return never
      if (left > 0) return take()
      // A dead process does not see whether the call failed.
      if (isAfter) await take().catch(() => undefined)
      kill()
      return never
    }
    const store: Store = {
      get: (key) => this.store.get(key),
      set: (key, value) => effect(() => this.store.set(key, value)),
      delete: (key) => effect(() => this.store.delete(key)),
      // A store promises no order.
      keys: async (prefix) => (await this.store.keys(prefix)).toReversed(),
    }
    const deps: ConsumerDeps = {
      stream: (options) => this.#stream(options, async () => (left <= 0 ? never : undefined)),
      latestCursor: async () => this.events.length,
      openMessage: async (message) => {
        const name = message.envelope.from.split('@')[0]
        const { body } = message.envelope as SignedEnvelope
        const opened = { body: body as JsonValue, sealed: false, verified: true }
        return receivedOf(message, { ...opened, sender: { agentId: `id of ${name}`, name } })
      },
      compose: async (draft) => this.#compose(draft as never),
      post: (envelope) => effect(() => this.#post(envelope)) as never,
      ack: (id) => effect(() => this.#call(() => void this.acked.add(id))),
      acceptReplies: (who) => effect(() => this.#call(() => void this.accepted.add(who))),
      sealFor: () => true,
      answerId: (id) => `answer-to-${id}`,
      lineOf: async (who) => String(who.split('@')[0]),
      owner: async () => ({ agentId: 'me', authority: 'x' }),
      sleep: () => new Promise((resolve) => setTimeout(resolve, this.sleepMs)),
      random: () => 0,
      warn: () => undefined,
    }
    return { deps, store, killed, kill }
  }

  async *#stream({ after, signal, onCursor }: StreamOptions, live: () => Promise<void>): AsyncGenerator<Event> {
    let cursor = Number(after)
    for (;;) {
      await live()
      signal?.throwIfAborted()
      const event = this.events[cursor]
      if (event === undefined) {
        onCursor?.(cursor)
        await new Promise((resolve) => setImmediate(resolve))
        continue
      }
      cursor = event.cursor
      const acked = this.acked.has(event.message.envelope.id)
      yield { ...event, message: { ...event.message, acked } }
    }
  }

  /** Every envelope is another one, even of the same draft, as time goes on. */
  #compose(draft: { id: string; to: string; type: Envelope['type']; body: Envelope; replyTo: string }): Envelope {
    this.#composed += 1
    const { id, to, type, body, replyTo } = draft
    return {
      id,
      from: 'me@x',
      to,
      type,
      ts: String(this.#composed),
      reply_to: replyTo,
      body: body as never,
      sig: '',
    }
  }

  async #post(envelope: Envelope): Promise<void> {
    await this.#call((fault) => {
      const earlier = this.answers.find(({ id }) => id === envelope.id)
      // A repeat of an accepted envelope is never refused (spec 7.4).
      if (earlier?.ts === envelope.ts) return
      if (earlier !== undefined) throw new ApiError(REFUSALS.conflict)
      if (fault === 'old' || fault === 'limit' || fault === 'pending') throw new ApiError(REFUSALS[fault])
      if (this.unreachable(envelope)) throw new ApiError(REFUSALS.pending)
      this.answers.push(envelope)
    })
  }

  async #call(take: (fault: Fault) => void): Promise<void> {
    const fault = this.faults.shift() ?? 'none'
    if (fault === 'down') throw new NetworkError('down')
    take(fault)
    if (fault === 'lost') throw new NetworkError('lost')
  }
}
