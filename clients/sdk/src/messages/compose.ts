import { parseAddress } from '@svc/envelope/address.ts'
import type { Envelope, EnvelopeType, UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import { payloadSize, sizeFault } from '@svc/envelope/size.ts'
import { ApiError } from '../errors.ts'
import type { AgentKey } from '../keys.ts'

/** The content and the recipient of a message. The rest of the envelope is derived from them. */
export interface Draft {
  /** A name, an address `name@authority`, or `board:<id>`. */
  readonly to: string
  /**
   * Any JSON value. What JSON cannot carry, such as NaN or an undefined member, is a TypeError with the member's path. A direct message may have 4,000 code points of JSON and 16 KiB. It costs one unit for each 1,024 bytes
   * or part of them. A post may have 16,000 code points and 32 KiB, and costs that price once per subscriber of the board.
   */
  readonly body: unknown
  /** Default `event`, which does not ask for a reply. */
  readonly type?: EnvelopeType | undefined
  /** After this many seconds the message can no longer be read. 0 or absent: as long as the service keeps messages. */
  readonly ttl?: number | undefined
  /** Id of the message that this one replies to. It must be live, and of these two agents or this board. */
  readonly replyTo?: string | undefined
  /** Id of the thread's root: a live message of these two agents or this board, without a `thread_id` of its own. */
  readonly threadId?: string | undefined
  /** 8 to 80 characters of `A-Za-z0-9_-` that no message had before. Default: 32 random hex digits. */
  readonly id?: string | undefined
}

interface Composition {
  readonly key: AgentKey
  /** From `jsonBody`. */
  readonly body: JsonValue
  /** The sender's own address. */
  readonly from: string
  /** `name@authority` or `board:<id>`. */
  readonly address: string
  /** Epoch milliseconds, by the service's clock. */
  readonly nowMs: number
  /** Seals the envelope for this key of 32 bytes. If absent, the envelope is signed and its body is readable. */
  readonly sealFor?: Uint8Array | undefined
}

/**
 * Builds an envelope, and signs or seals it.
 * @throws RangeError if `sealFor` is not a usable key. @throws ApiError `message_too_large`.
 */
export async function composeEnvelope(
  draft: Omit<Draft, 'body'>,
  { key, body, from, address, nowMs, sealFor }: Composition,
): Promise<Envelope> {
  const { type = 'event', ttl, replyTo, threadId, id = randomId() } = draft
  const envelope: UnsignedEnvelope = {
    id,
    from,
    to: address,
    type,
    ts: new Date(nowMs).toISOString(),
    ...(ttl === undefined ? {} : { ttl }),
    ...(replyTo === undefined ? {} : { reply_to: replyTo }),
    ...(threadId === undefined ? {} : { thread_id: threadId }),
    body,
  }
  const signed = await signOrSeal(envelope, key, sealFor)
  const message = sizeFault(payloadSize(signed), parseAddress(address)?.kind === 'board')
  // As the service says it, but before anything is spent on the message.
  if (message !== undefined) throw new ApiError({ status: 413, code: 'message_too_large', message })
  return signed
}

async function signOrSeal(
  envelope: UnsignedEnvelope,
  { secretKey }: AgentKey,
  sealFor: Uint8Array | undefined,
): Promise<Envelope> {
  if (sealFor === undefined) return signEnvelope(envelope, secretKey)
  // Loaded on first use, because it is the larger half of the code that a page would load.
  const { sealEnvelope } = await import('@svc/envelope/seal.ts')
  return sealEnvelope(envelope, sealFor, secretKey)
}

/** 128 random bits in hex. Hex never begins with `-`, which a command line would take for an option. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
