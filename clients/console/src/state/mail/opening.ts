import type { Envelope, Message } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { SentPlaintext } from '../../vault/agent-store.ts'
import type { AgentContext } from '../agent/context.ts'
import type { People, Person } from '../agent/people.ts'
import { digestOf } from './digest.ts'
import type { Outbox } from './outbox.ts'

/** The known content of a message, and the key that vouches for its sender. */
export type Opened =
  | { readonly kind: 'open'; readonly body: JsonValue; readonly sealed: boolean; readonly trust: Trust }
  /** Sealed by this agent for somebody else, in another browser or program: the text is not here. */
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'failed'; readonly reason: Refusal }

export type Trust = Person['source'] | 'none'

/** `changed`: the service shows another envelope under the id of one that this browser sent. */
type Refusal = 'cannot_open' | 'invalid_signature' | 'key_changed' | 'addressed_to_another' | 'changed'

/** The list from which a message was read. It decides to whom the message must be addressed (spec 13.5). */
export type ReadFrom = 'mail' | 'sent' | `board:${string}`

/** Past this the oldest answer is forgotten, so that a long history does not fill the memory. */
const MAX_KEPT = 12_000

/** Opens messages, and remembers its answers by content. */
export class Opener {
  readonly #context: Pick<AgentContext, 'client' | 'name'>
  readonly #people: People
  readonly #outbox: Pick<Outbox, 'sent' | 'pending'>
  readonly #kept = new Map<string, Opened>()

  constructor(
    context: Pick<AgentContext, 'client' | 'name'>,
    people: People,
    outbox: Pick<Outbox, 'sent' | 'pending'>,
  ) {
    this.#context = context
    this.#people = people
    this.#outbox = outbox
  }

  /** Says verified only if the message is addressed to its reader. */
  async open(message: Message, readFrom: ReadFrom): Promise<Opened> {
    // The answer depends on what is known about the sender.
    await this.#meet(message.envelope.from)
    const name = this.#nameOf(message, readFrom)
    const known = this.#kept.get(name)
    if (known !== undefined) return known
    const opened = await this.#openNow(message.envelope, readFrom)
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined && this.#kept.size >= MAX_KEPT) this.#kept.delete(oldest)
    this.#kept.set(name, opened)
    return opened
  }

  /** The answer of an earlier `open`, if it still holds. */
  peek(message: Message, readFrom: ReadFrom): Opened | undefined {
    return this.#kept.get(this.#nameOf(message, readFrom))
  }

  /** Names the content, and everything else that the answer depends on. */
  #nameOf({ envelope }: Message, readFrom: ReadFrom): string {
    const source = this.#people.find(envelope.from)?.source ?? 'none'
    const copy = this.#copyOf(envelope.id)
    return `${digestOf(envelope)} ${readFrom} ${this.#context.name.value} ${source} ${copy?.digest}`
  }

  /** What this browser sent under the id. */
  #copyOf(id: string): SentPlaintext | undefined {
    const sent = this.#outbox.sent.value.get(id)
    const waiting = this.#outbox.pending.value.get(id)
    if (sent !== undefined || waiting === undefined) return sent
    const { envelope, body, composedAtMs } = waiting
    return { body, to: envelope.to, sentAtMs: composedAtMs, digest: digestOf(envelope) }
  }

  async #openNow(envelope: Envelope, readFrom: ReadFrom): Promise<Opened> {
    const { from } = envelope
    const people = this.#people
    const copy = this.#copyOf(envelope.id)
    if (copy !== undefined && copy.digest !== digestOf(envelope)) return { kind: 'failed', reason: 'changed' }
    try {
      const to = this.#recipientOf(envelope, readFrom)
      const { body, sealed, verified } = await this.#context.client.open(envelope, { allowUnverified: true, to })
      return { kind: 'open', body, sealed, trust: verified ? (people.find(from)?.source ?? 'directory') : 'none' }
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      if (error.reason === 'addressed_to_another') return { kind: 'failed', reason: error.reason }
      if (error.reason !== 'cannot_open') {
        return { kind: 'failed', reason: (await this.#isKeyChanged(from)) ? 'key_changed' : 'invalid_signature' }
      }
      if (!people.isOwn(from) || readFrom === 'mail') return { kind: 'failed', reason: 'cannot_open' }
      // Sealed by this agent for somebody else, who alone can open it.
      if (copy === undefined) return { kind: 'elsewhere' }
      return { kind: 'open', body: copy.body as JsonValue, sealed: true, trust: 'self' }
    }
  }

  /** A text does not wait for the directory. The views look there for the name of an id. */
  async #meet(from: string): Promise<void> {
    try {
      await (isAgentId(from) ? this.#people.recall(from) : this.#people.meet(from))
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
    }
  }

  /** Whether the service now gives another key for the sender's name than it did first. */
  async #isKeyChanged(from: string): Promise<boolean> {
    const name = this.#people.find(from)?.name
    if (isAgentId(from) || name === undefined) return false
    try {
      await this.#people.lookUp(name)
      return false
    } catch (error) {
      return error instanceof VerificationError && error.reason === 'key_changed'
    }
  }

  /** The own signature covers the recipient of an own message. */
  #recipientOf({ from, to }: Envelope, readFrom: ReadFrom): string | undefined {
    if (readFrom === 'sent' && this.#people.isOwn(from)) return to
    return readFrom === 'mail' || readFrom === 'sent' ? this.#context.name.value : readFrom
  }
}
