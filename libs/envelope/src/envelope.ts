import { LIMITS } from '@svc/contracts/limits.ts'
import { base64ByteLength } from '@svc/svc1/base64.ts'
import { type Address, parseAddress, parseSender, type Sender } from './address.ts'
import { parseDateTime } from './date-time.ts'
import type { JsonValue } from './json-value.ts'
import { type PayloadSize, textSize } from './size.ts'

export const ENVELOPE_TYPES = ['request', 'response', 'event', 'error'] as const
export type EnvelopeType = (typeof ENVELOPE_TYPES)[number]

/** The members that every kind of envelope can have (spec 6.1). */
interface EnvelopeHead {
  /** Created by the client, globally unique: 8 to 80 characters of `A-Za-z0-9_-`. */
  id: string
  /** The sender: its agent id, or its address `name@authority`. */
  from: string
  /** `name@authority` or `board:<BOARD_ID>`. */
  to: string
  type: EnvelopeType
  /** RFC 3339 date-time. */
  ts: string
  /** Seconds. If it is 0 or absent, the message has no ttl. */
  ttl?: number
  reply_to?: string
  thread_id?: string
}

/** An envelope before it is signed or sealed. */
export interface UnsignedEnvelope extends EnvelopeHead {
  body: JsonValue
}

export interface SignedEnvelope extends UnsignedEnvelope {
  /** base64 of 64 bytes (spec 2.4, 6.3). */
  sig: string
}

export interface SealedEnvelope extends EnvelopeHead {
  /** base64 of the HPKE ciphertext with its tag (spec 6.4). */
  body_enc: string
  /** base64 of 32 bytes, HPKE's `enc`. */
  ephemeral_pub: string
}

export type Envelope = SignedEnvelope | SealedEnvelope

/** Everything that the server needs to know about an envelope. It does not read the envelope again. */
export interface EnvelopeFacts {
  readonly id: string
  readonly from: Sender
  readonly to: Address
  readonly type: EnvelopeType
  /** `ts` in epoch milliseconds. */
  readonly tsMs: number
  /** Seconds; 0 if there is none. */
  readonly ttl: number
  /** The id in `reply_to`. `''`, which is no message's id, if the text cannot be an id. */
  readonly replyTo: string | undefined
  /** The id in `thread_id`, by the same rule as `replyTo`. */
  readonly threadId: string | undefined
  readonly sealed: boolean
  /** Infinity if the body exceeds every limit, because its bytes are then not counted. */
  readonly payloadBytes: number
  /** Undefined if the envelope is sealed. */
  readonly payloadCharacters: number | undefined
}

/** The value is not a valid envelope. `message` gives the reason, and may be shown to the sender. */
export class EnvelopeError extends Error {
  override name = 'EnvelopeError'
  /** `invalid_request` for an undeclared member (spec 2.7), `invalid_envelope` for everything else. */
  readonly code: 'invalid_request' | 'invalid_envelope'
  constructor(code: EnvelopeError['code'], message: string) {
    super(message)
    this.code = code
  }
}

const MEMBERS = [
  'id',
  'from',
  'to',
  'type',
  'ts',
  'body',
  'sig',
  'body_enc',
  'ephemeral_pub',
  'ttl',
  'reply_to',
  'thread_id',
]
/** The members that an envelope may have. */
export const ENVELOPE_MEMBERS: ReadonlySet<string> = new Set(MEMBERS)
const ID = new RegExp(`^[A-Za-z0-9_-]{${LIMITS.envelopeIdLengthMin},${LIMITS.envelopeIdLengthMax}}$`)
const SIGNATURE_BYTES = 64
const EPHEMERAL_PUB_BYTES = 32
const OVER_EVERY_LIMIT: PayloadSize = { bytes: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY }

/**
 * Reads an envelope and checks its shape, which needs nothing but the envelope. Sender, size, time window, recipient and
 * references are not checked here, because each has its own code and its own place in the order of spec 7.2.
 * @param value from `parseIJson` or `parseOrOutline`.
 * @param text the value as JSON.stringify writes it; null for an outline, whose body exceeds every limit.
 * @throws EnvelopeError.
 */
export function readEnvelope(value: unknown, text: string | null = JSON.stringify(value)): EnvelopeFacts {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('an envelope is an object')
  const envelope = value as Record<string, unknown>
  for (const name of Object.keys(envelope)) {
    if (!ENVELOPE_MEMBERS.has(name))
      throw new EnvelopeError(
        'invalid_request',
        `an envelope must not have the member ${quote(name)}; allowed are ${MEMBERS.join(', ')}`,
      )
  }
  const { sealed, size } = readPayload(envelope, text)
  return {
    id: readId(envelope.id),
    from: readFrom(envelope.from),
    to: readTo(envelope.to),
    type: readType(envelope.type),
    tsMs: readTs(envelope.ts),
    ttl: readTtl(envelope.ttl),
    replyTo: readReference('reply_to', envelope.reply_to),
    threadId: readReference('thread_id', envelope.thread_id),
    sealed,
    payloadBytes: size.bytes,
    payloadCharacters: size.characters,
  }
}

/** Checks that the members are either `body` and `sig`, or `body_enc` and `ephemeral_pub`, and are not mixed (spec 2.4, 6.1). */
function readPayload(envelope: Record<string, unknown>, text: string | null): { sealed: boolean; size: PayloadSize } {
  const { body, sig, body_enc, ephemeral_pub } = envelope
  const signed = body !== undefined || sig !== undefined
  const sealed = body_enc !== undefined || ephemeral_pub !== undefined
  if (signed === sealed) {
    throw malformed('an envelope has either body and sig, or body_enc and ephemeral_pub')
  }
  if (signed) {
    if (body === undefined) throw malformed('sig without body')
    if (bytesOf(sig) !== SIGNATURE_BYTES) throw malformed(`sig must be padded base64 of ${SIGNATURE_BYTES} bytes`)
    return { sealed, size: sizeOfBody(envelope, text) }
  }
  if (bytesOf(ephemeral_pub) !== EPHEMERAL_PUB_BYTES) {
    throw malformed(`ephemeral_pub must be padded base64 of ${EPHEMERAL_PUB_BYTES} bytes`)
  }
  const bytes = bytesOf(body_enc)
  if (bytes === undefined || bytes === 0) throw malformed('body_enc must be padded base64 of at least one byte')
  return { sealed, size: { bytes, characters: undefined } }
}

/** Counts the size of the body in the given text, because serializing a long body again would cost as much as parsing it. */
function sizeOfBody(envelope: Record<string, unknown>, text: string | null): PayloadSize {
  if (text === null) return OVER_EVERY_LIMIT
  const rest = JSON.stringify({ ...envelope, body: 0 })
  const start = rest.indexOf('"body":0') + '"body":'.length
  const length = text.length - rest.length + 1
  return length > LIMITS.postBytes ? OVER_EVERY_LIMIT : textSize(text, start, start + length)
}

function bytesOf(base64: unknown): number | undefined {
  return typeof base64 === 'string' ? base64ByteLength(base64) : undefined
}

function readId(id: unknown): string {
  if (typeof id === 'string' && ID.test(id)) return id
  throw malformed('id must be 8 to 80 of A-Z, a-z, 0-9, _ and -')
}

/** Checks only the form. The gateway checks later that it is the signer, otherwise 403 `sender_mismatch` (spec 6.2). */
function readFrom(from: unknown): Sender {
  const sender = typeof from === 'string' ? parseSender(from) : undefined
  if (sender !== undefined) return sender
  throw malformed('from must be an agent id or <name>@<authority>')
}

function readTo(to: unknown): Address {
  const address = typeof to === 'string' ? parseAddress(to) : undefined
  if (address !== undefined) return address
  throw malformed('to must be <name>@<authority> or board:<board id>')
}

function readType(type: unknown): EnvelopeType {
  const known = ENVELOPE_TYPES.find((name) => name === type)
  if (known !== undefined) return known
  throw malformed(`type must be one of ${ENVELOPE_TYPES.join(', ')}`)
}

function readTs(ts: unknown): number {
  const epochMs = typeof ts === 'string' ? parseDateTime(ts) : undefined
  if (epochMs !== undefined) return epochMs
  throw malformed('ts must be an RFC 3339 date-time with at most 9 digits of fraction')
}

/** Any whole number from 0 (spec 6.1), however large. Messaging limits it to the retention time. */
function readTtl(ttl: unknown): number {
  if (ttl === undefined) return 0
  if (typeof ttl === 'number' && Number.isInteger(ttl) && ttl >= 0) return ttl + 0 // -0 is 0
  throw malformed('ttl must be a whole number of seconds, 0 or more')
}

/**
 * The specification declares a string, so any string is well formed. Text that cannot be an id refers to no message. That
 * is `invalid_reference`, which messaging reports when it looks up references (spec 6.1, 7.2). The text itself is not
 * passed on, because a JSON string can contain characters that a store cannot hold.
 */
function readReference(name: string, reference: unknown): string | undefined {
  if (reference === undefined) return undefined
  if (typeof reference !== 'string') throw malformed(`${name} must be a string`)
  return ID.test(reference) ? reference : ''
}

function malformed(message: string): EnvelopeError {
  return new EnvelopeError('invalid_envelope', message)
}

function quote(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
}
