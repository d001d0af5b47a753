import type { Envelope, Message } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import type { SentStore } from '../store/sent.ts'
import type { KnownAgent, Senders } from './senders.ts'

/** What a message says, and what is known of who wrote it. */
export interface Reading {
  /** Undefined where it cannot be read, or must not be shown. */
  readonly body: JsonValue | undefined
  readonly sealed: boolean
  /** Whether the signature was checked with the key of `sender`, here, and is good. */
  readonly verified: boolean
  /** Undefined where no key is known whose agent id is `from`. */
  readonly sender: KnownAgent | undefined
  readonly problem: Problem | undefined
}

/**
 * - `unknown_sender`: no key of the sender is known, so the service's word is all there is.
 * - `invalid_signature`: the sender did not sign this. It is never shown.
 * - `cannot_open`: sealed for another key, or altered.
 * - `plaintext_missing`: this agent sealed it, and what it said is not kept here: sealing is one-way.
 * - `withheld`: unverified, and the server was started with --require-verified.
 */
export type Problem = 'unknown_sender' | 'invalid_signature' | 'cannot_open' | 'plaintext_missing' | 'withheld'

export interface Reader {
  /** Opens and verifies. Does not throw for what is wrong with the message. */
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
        // A key that belongs to no name that is known here says who signed, and not who that is.
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

/** A service could show another envelope under an id of this agent's. */
function isSame(composed: Envelope, shown: Envelope): boolean {
  return 'body_enc' in composed && 'body_enc' in shown && composed.body_enc === shown.body_enc
}

const MAX_GROWTH = 4

/** A body as text: a string as it is, anything else as JSON. */
export function textOf(body: JsonValue): string {
  if (typeof body === 'string') return body
  const [compact, indented] = [JSON.stringify(body), JSON.stringify(body, null, 2)]
  // Brackets within brackets would become mostly white space.
  return indented.length > MAX_GROWTH * compact.length ? compact : indented
}
