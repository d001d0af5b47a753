import type { Envelope, Message } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import type { SentStore } from '../store/sent.ts'
import type { KnownAgent, Senders } from './senders.ts'

/** The content of a message, and what is known about its sender. */
export interface Reading {
  /** Undefined if the body cannot be read or must not be shown. */
  readonly body: JsonValue | undefined
  readonly sealed: boolean
  /** Whether the signature was checked here with the key of `sender`, and is valid. */
  readonly verified: boolean
  /** Undefined if no key is known whose agent id is `from`. */
  readonly sender: KnownAgent | undefined
  readonly problem: Problem | undefined
}

/**
 * - `unknown_sender`: no key of the sender is known, so only the service vouches for the sender.
 * - `invalid_signature`: the sender did not sign this message. The text is never shown.
 * - `cannot_open`: the message is sealed for another key, or was altered.
 * - `plaintext_missing`: this agent sealed the message, so it cannot open it, and the plaintext is not stored here.
 * - `withheld`: the message is not verified, and the server was started with --require-verified.
 */
export type Problem = 'unknown_sender' | 'invalid_signature' | 'cannot_open' | 'plaintext_missing' | 'withheld'

export interface Reader {
  /** Opens and verifies a message. If the message is bad, returns a `problem` instead of throwing. */
  read(message: Message | Envelope, signal: AbortSignal): Promise<Reading>
}

interface ReaderDeps {
  readonly client: AgentClient
  readonly ownAgentId: string
  readonly senders: Senders
  readonly sent: SentStore
  readonly requireVerified: boolean
}

export function createReader({ client, ownAgentId, senders, sent, requireVerified }: ReaderDeps): Reader {
  return {
    async read(message, signal) {
      const envelope = 'envelope' in message ? message.envelope : message
      const sender = await senders.ofAgent(envelope.from, signal)
      const sealed = 'body_enc' in envelope
      if (sealed && envelope.from === ownAgentId) {
        const own = sent.find(envelope.id)
        if (own !== undefined && isSame(own.envelope, envelope))
          return { body: own.body, sealed, verified: true, sender, problem: undefined }
      }
      const failed = (problem: Problem): Reading => ({ body: undefined, sealed, verified: false, sender, problem })
      try {
        const options = sender === undefined ? { allowUnverified: true } : { sender: sender.pubkey }
        const { body, verified } = await client.open(envelope, { ...options, signal })
        if (verified && sender !== undefined) return { body, sealed, verified, sender, problem: undefined }
        if (requireVerified) return failed('withheld')
        // The signature matches a key, but no name is known for this key.
        return { body, sealed, verified: false, sender, problem: 'unknown_sender' }
      } catch (error) {
        if (!(error instanceof VerificationError)) throw error
        if (error.reason === 'cannot_open') {
          return failed(envelope.from === ownAgentId ? 'plaintext_missing' : 'cannot_open')
        }
        return failed('invalid_signature')
      }
    },
  }
}

/** A hostile service could show another envelope under the id of a message of this agent. */
function isSame(composed: Envelope, shown: Envelope): boolean {
  return 'body_enc' in composed && 'body_enc' in shown && composed.body_enc === shown.body_enc
}

const MAX_GROWTH = 4

/** A text body as it is, any other body as JSON. */
export function textOf(body: JsonValue): string {
  if (typeof body === 'string') return body
  const [compact, indented] = [JSON.stringify(body), JSON.stringify(body, null, 2)]
  // With deep nesting, indented JSON would be mostly white space.
  return indented.length > MAX_GROWTH * compact.length ? compact : indented
}
