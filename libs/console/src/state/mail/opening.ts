import type { Envelope, Message } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import type { AgentContext } from '../agent/context.ts'
import type { People, Person } from '../agent/people.ts'
import type { Outbox } from './outbox.ts'

/** The known content of a message, and the key that vouches for its sender. */
export type Opened =
  | { readonly kind: 'open'; readonly body: JsonValue; readonly sealed: boolean; readonly trust: Trust }
  /** Sealed by this agent for somebody else, in another browser or program: the text is not here. */
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'failed'; readonly reason: 'cannot_open' | 'invalid_signature' }

type Trust = Person['source'] | 'none'

export interface Opener {
  /** Remembers its answers. They change when a key of the sender becomes known. */
  open(message: Message): Promise<Opened>
  /** The answer of an earlier `open`, if it still holds. */
  peek(message: Message): Opened | undefined
}

/** Past this the oldest answer is forgotten, so that a long history does not fill the memory. */
const MAX_KEPT = 12_000

export function createOpener({ client, key }: AgentContext, people: People, outbox: Outbox): Opener {
  const kept = new Map<string, Opened>()

  /** The key that would be used is part of the name, so a new key gives a new answer. */
  function nameOf({ envelope }: Message): string {
    const person = people.known.value.get(envelope.from)
    const isOwnCopy = textOf(envelope.id) !== undefined
    return `${envelope.id} ${person?.source ?? 'none'} ${isOwnCopy}`
  }

  function textOf(id: string): { readonly body: unknown } | undefined {
    return outbox.sent.value.get(id) ?? outbox.pending.value.get(id)
  }

  async function open(message: Message): Promise<Opened> {
    const name = nameOf(message)
    const known = kept.get(name)
    if (known !== undefined) return known
    const opened = await openNow(message.envelope)
    const [oldest] = kept.keys()
    if (oldest !== undefined && kept.size >= MAX_KEPT) kept.delete(oldest)
    kept.set(name, opened)
    return opened
  }

  async function openNow(envelope: Envelope): Promise<Opened> {
    const person = people.known.value.get(envelope.from)
    const isSealed = 'body_enc' in envelope
    const copy = textOf(envelope.id)
    if (isSealed && envelope.from === key.agentId && copy !== undefined) {
      return { kind: 'open', body: copy.body as JsonValue, sealed: true, trust: 'self' }
    }
    try {
      const { body, sealed, verified } = await client.open(envelope, {
        sender: person?.pubkey,
        allowUnverified: person === undefined,
      })
      return { kind: 'open', body, sealed, trust: verified ? (person?.source ?? 'none') : 'none' }
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      if (error.reason === 'cannot_open' && envelope.from === key.agentId) return { kind: 'elsewhere' }
      return { kind: 'failed', reason: error.reason === 'cannot_open' ? 'cannot_open' : 'invalid_signature' }
    }
  }

  return { open, peek: (message) => kept.get(nameOf(message)) }
}
