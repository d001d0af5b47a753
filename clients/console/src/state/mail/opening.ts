import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { jcs } from '@svc/envelope/jcs.ts'
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

export interface Opener {
  /** Says verified only if the message is addressed to its reader. Remembers its answers, by content. */
  open(message: Message, readFrom: ReadFrom): Promise<Opened>
  /** The answer of an earlier `open`, if it still holds. */
  peek(message: Message, readFrom: ReadFrom): Opened | undefined
}

/** Past this the oldest answer is forgotten, so that a long history does not fill the memory. */
const MAX_KEPT = 12_000

export function createOpener({ client, name }: AgentContext, people: People, outbox: Outbox): Opener {
  const kept = new Map<string, Opened>()

  /** Names the content, and everything else that the answer depends on. */
  function nameOf({ envelope }: Message, readFrom: ReadFrom): string {
    const person = people.find(envelope.from)
    const copy = copyOf(envelope.id)
    return `${digestOf(envelope)} ${readFrom} ${name.value} ${person?.source ?? 'none'} ${copy?.digest ?? copy !== undefined}`
  }

  /** What this browser sent under the id. */
  function copyOf(id: string): SentPlaintext | undefined {
    const sent = outbox.sent.value.get(id)
    const waiting = outbox.pending.value.get(id)
    if (sent !== undefined || waiting === undefined) return sent
    const { envelope, body, composedAtMs } = waiting
    return { body, to: envelope.to, sentAtMs: composedAtMs, digest: digestOf(envelope) }
  }

  async function open(message: Message, readFrom: ReadFrom): Promise<Opened> {
    // The answer depends on what is known about the sender.
    await meet(message.envelope.from)
    const name = nameOf(message, readFrom)
    const known = kept.get(name)
    if (known !== undefined) return known
    const opened = await openNow(message.envelope, readFrom)
    const [oldest] = kept.keys()
    if (oldest !== undefined && kept.size >= MAX_KEPT) kept.delete(oldest)
    kept.set(name, opened)
    return opened
  }

  async function openNow(envelope: Envelope, readFrom: ReadFrom): Promise<Opened> {
    const { from } = envelope
    const copy = copyOf(envelope.id)
    if (copy !== undefined && !isCopy(envelope, copy)) return { kind: 'failed', reason: 'changed' }
    try {
      const { body, sealed, verified } = await client.open(envelope, {
        allowUnverified: true,
        to: recipientOf(envelope, readFrom),
      })
      return { kind: 'open', body, sealed, trust: verified ? (people.find(from)?.source ?? 'directory') : 'none' }
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      if (error.reason === 'addressed_to_another') return { kind: 'failed', reason: error.reason }
      if (error.reason !== 'cannot_open') {
        return { kind: 'failed', reason: (await isKeyChanged(from)) ? 'key_changed' : 'invalid_signature' }
      }
      if (!people.isOwn(from) || readFrom === 'mail') return { kind: 'failed', reason: 'cannot_open' }
      // Sealed by this agent for somebody else, who alone can open it.
      if (copy === undefined) return { kind: 'elsewhere' }
      return { kind: 'open', body: copy.body as JsonValue, sealed: true, trust: 'self' }
    }
  }

  /** A text does not wait for the directory. The views look there for the name of an id. */
  async function meet(from: string): Promise<void> {
    try {
      await (isAgentId(from) ? people.recall(from) : people.meet(from))
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
    }
  }

  /** Whether the service now gives another key for the sender's name than it did first. */
  async function isKeyChanged(from: string): Promise<boolean> {
    const name = people.find(from)?.name
    if (isAgentId(from) || name === undefined) return false
    try {
      await people.lookUp(name)
      return false
    } catch (error) {
      return error instanceof VerificationError && error.reason === 'key_changed'
    }
  }

  /** The own signature covers the recipient of an own message. */
  function recipientOf({ from, to }: Envelope, readFrom: ReadFrom): string | undefined {
    if (readFrom === 'sent' && people.isOwn(from)) return to
    return readFrom === 'mail' || readFrom === 'sent' ? name.value : readFrom
  }

  return { open, peek: (message, readFrom) => kept.get(nameOf(message, readFrom)) }
}

/** Older copies have no digest. */
function isCopy(envelope: Envelope, { digest, to, body }: SentPlaintext): boolean {
  if (digest !== undefined) return digest === digestOf(envelope)
  return envelope.to === to && ('body_enc' in envelope || jcs(envelope.body) === jcs(body))
}
