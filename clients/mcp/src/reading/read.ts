import { isDeepStrictEqual } from 'node:util'
import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { parseAddress } from '@svc/envelope/address.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import type { Opened } from '@svc/sdk/messages/open.ts'
import type { SentStore } from '../store/sent.ts'
import type { KnownAgent, Own, Senders } from './senders.ts'

/** The content of a message, and what is known about its sender. */
export interface Reading {
  /** Undefined if the body cannot be read or must not be shown. */
  readonly body: JsonValue | undefined
  readonly sealed: boolean
  /** Whether the signature was checked here with the key of `sender`, is valid, and the message was written for this reader. */
  readonly verified: boolean
  /** Undefined if no key is known for `from`. */
  readonly sender: KnownAgent | undefined
  readonly problem: Problem | undefined
}

/**
 * - `unknown_sender`: no key of the sender is known, so only the service vouches for the sender.
 * - `invalid_signature`: the sender did not sign this message. The text is never shown.
 * - `wrong_key`: the key that is known does not belong to the sender. The text is never shown.
 * - `key_changed`: the service gives another key for the sender than it did first. The text is never shown.
 * - `addressed_to_another`: the sender wrote this message to another agent or board.
 * - `altered`: this agent sent another message with this id.
 * - `cannot_open`: the message is sealed for another key, or was altered.
 * - `plaintext_missing`: this agent sealed the message, so it cannot open it, and the plaintext is not stored here.
 * - `withheld`: the message is not verified, and the server was started with --require-verified.
 */
export type Problem =
  | 'unknown_sender'
  | 'invalid_signature'
  | 'wrong_key'
  | 'key_changed'
  | 'addressed_to_another'
  | 'altered'
  | 'cannot_open'
  | 'plaintext_missing'
  | 'withheld'

interface ReaderDeps {
  readonly client: AgentClient
  readonly own: Pick<Own, 'name'>
  readonly senders: Senders
  readonly sent: Pick<SentStore, 'find'>
  readonly requireVerified: boolean
}

export class Reader {
  readonly #deps: ReaderDeps

  constructor(deps: ReaderDeps) {
    this.#deps = deps
  }

  /**
   * Opens and verifies a message. If the message is bad, returns a `problem` instead of throwing.
   * @param boardId the board that the message was read from. If a list names no board, a post shows its own.
   */
  async read({ envelope, lane }: Message, signal: AbortSignal, boardId?: string): Promise<Reading> {
    const { client, own, senders, sent, requireVerified } = this.#deps
    const sealed = 'body_enc' in envelope
    let sender: KnownAgent | undefined
    const failed = (problem: Problem): Reading => ({ body: undefined, sealed, verified: false, sender, problem })
    try {
      sender = await senders.ofSender(envelope.from, signal)
    } catch (error) {
      if (error instanceof VerificationError) return failed(error.reason)
      throw error
    }
    const isOwn = senders.isOwn(envelope.from)
    const copy = isOwn ? sent.find(envelope.id) : undefined
    if (copy !== undefined) {
      // A hostile service could show a message of this agent with another recipient or in another thread.
      if (!isDeepStrictEqual(copy.envelope, envelope)) return failed('altered')
      return { body: copy.body, sealed, verified: true, sender, problem: undefined }
    }
    if (parseAddress(envelope.to) === undefined) return failed('addressed_to_another')
    const expected = sender === undefined ? { allowUnverified: true } : { sender: sender.pubkey }
    const open = (to: string): Promise<Opened> => client.open(envelope, { to, signal, ...expected })
    try {
      const { body, verified } = await open(expectedRecipient(envelope, { lane, boardId, isOwn }) ?? own.name)
      if (verified && sender !== undefined) return { body, sealed, verified, sender, problem: undefined }
      if (requireVerified) return failed('withheld')
      // The signature matches a key, but no name is known for this key.
      return { body, sealed, verified: false, sender, problem: 'unknown_sender' }
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      if (error.reason === 'cannot_open') return failed(isOwn ? 'plaintext_missing' : 'cannot_open')
      if (error.reason !== 'addressed_to_another' || requireVerified) return failed(error.reason)
      return { ...failed('addressed_to_another'), body: (await open(envelope.to)).body }
    }
  }
}

/**
 * The recipient that a message must have. Undefined for a message to this agent. The recipient of a message of this agent is
 * as good as its signature.
 */
function expectedRecipient(
  { to }: Envelope,
  { lane, boardId, isOwn }: { lane: string; boardId: string | undefined; isOwn: boolean },
): string | undefined {
  if (boardId !== undefined) return `board:${boardId}`
  return isOwn || (lane === 'board' && to.startsWith('board:')) ? to : undefined
}

const MAX_GROWTH = 4

/** A text body as it is, any other body as JSON. */
export function textOf(body: JsonValue): string {
  if (typeof body === 'string') return body
  const [compact, indented] = [JSON.stringify(body), JSON.stringify(body, null, 2)]
  // With deep nesting, indented JSON would be mostly white space.
  return indented.length > MAX_GROWTH * compact.length ? compact : indented
}
