import type { Envelope, EnvelopeType, UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import { parseIJson } from '@svc/envelope/i-json.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import type { AgentKey } from './keys.ts'

/** What a message says and to whom; all else of its envelope is made from it. */
export interface Draft {
  /** A name, an address `name@authority`, or `board:<id>`. */
  readonly to: string
  /**
   * Any JSON value. A direct message takes 4,000 code points of JSON and 16 KiB, and costs a unit per 1,024 bytes begun; a
   * post 16,000 and 32 KiB, and as much for each of the board's subscribers.
   */
  readonly body: unknown
  /** Default `event`, which asks for nothing. */
  readonly type?: EnvelopeType | undefined
  /** Seconds after which nobody can read it any more; 0 or absent: as long as the service keeps messages. */
  readonly ttl?: number | undefined
  /** Id of a live message of the same two agents or the same board. */
  readonly replyTo?: string | undefined
  /** Id of the thread's root: such a message that has no `thread_id` of its own. */
  readonly threadId?: string | undefined
  /** 8 to 80 of `A-Za-z0-9_-`, never used before by anybody; 32 random hex digits where absent. */
  readonly id?: string | undefined
}

interface Composition {
  readonly key: AgentKey
  /** `name@authority` or `board:<id>`. */
  readonly address: string
  /** Epoch milliseconds, by the service's clock. */
  readonly nowMs: number
  /** 32 bytes; seals the envelope for this key. Absent: it is signed, and its body is in the clear. */
  readonly sealFor?: Uint8Array | undefined
}

const encoder = new TextEncoder()

/** Builds an envelope, and signs or seals it. @throws TypeError where the body is not I-JSON; RangeError where the key cannot be sealed for. */
export async function composeEnvelope(draft: Draft, { key, address, nowMs, sealFor }: Composition): Promise<Envelope> {
  const { type = 'event', ttl, replyTo, threadId, id = randomId() } = draft
  const envelope: UnsignedEnvelope = {
    id,
    from: key.agentId,
    to: address,
    type,
    ts: new Date(nowMs).toISOString(),
    ...(ttl === undefined ? {} : { ttl }),
    ...(replyTo === undefined ? {} : { reply_to: replyTo }),
    ...(threadId === undefined ? {} : { thread_id: threadId }),
    body: jsonOf(draft.body),
  }
  if (sealFor === undefined) return signEnvelope(envelope, key.secretKey)
  // The larger half of what a page would load, so it is loaded when it is first needed.
  const { sealEnvelope } = await import('@svc/envelope/seal.ts')
  return sealEnvelope(envelope, sealFor, key.secretKey)
}

/** The body as it will be read at the other end, e.g. a Date as its text; what the service would refuse is refused here. */
function jsonOf(body: unknown): JsonValue {
  const text = JSON.stringify(body)
  if (text === undefined) throw new TypeError('the body is not JSON')
  try {
    return parseIJson(encoder.encode(text)).value
  } catch (cause) {
    throw new TypeError(`the body is not I-JSON: ${(cause as Error).message}`, { cause })
  }
}

/** 128 bits from the platform's random source, in hex: never begins with `-`, which command lines misread. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
