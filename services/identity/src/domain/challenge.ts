import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/** What a challenge says of itself; nothing about it is stored until it is consumed (spec 5.4). */
export interface Challenge {
  /** UUID; what its consumption is stored by. */
  readonly id: string
  /** 32 raw bytes of the one key that may register with it. */
  readonly publicKey: Uint8Array
  /** Leading zero bits that its work must have, whatever the configuration says by then. */
  readonly difficulty: number
  /** Unix seconds; it is good until the second before. */
  readonly expiresAt: number
}

// Version, difficulty, expiry (6 bytes, big-endian), id, key; then the MAC over these bytes.
const VERSION = 1
const EXPIRY_AT = 2
const ID_AT = 8
const KEY_AT = 24
const PAYLOAD_BYTES = 56
const MAC_BYTES = 32

/** The text that a client gets: `<payload>.<HMAC-SHA256>`, both base64url without padding, 119 characters. */
export function encodeChallenge(challenge: Challenge, signingKey: KeyObject): string {
  const payload = Buffer.alloc(PAYLOAD_BYTES)
  payload.writeUInt8(VERSION, 0)
  payload.writeUInt8(challenge.difficulty, 1)
  payload.writeUIntBE(challenge.expiresAt, EXPIRY_AT, ID_AT - EXPIRY_AT)
  payload.write(challenge.id.replaceAll('-', ''), ID_AT, 'hex')
  payload.set(challenge.publicKey, KEY_AT)
  return `${payload.toString('base64url')}.${macOf(payload, signingKey).toString('base64url')}`
}

/**
 * @param keys Every key whose challenges are still good; rotation adds the new one in front and drops the old one later.
 * @returns undefined where it is malformed or none of the keys made it. Expired ones and those of another public key are
 *   returned: what they are good for is `judgeRegistration`'s to say.
 */
export function decodeChallenge(text: string, keys: readonly KeyObject[]): Challenge | undefined {
  const [payloadText = '', macText = '', ...rest] = text.split('.')
  const payload = decodeBase64Url(payloadText, PAYLOAD_BYTES)
  const mac = decodeBase64Url(macText, MAC_BYTES)
  if (payload === undefined || mac === undefined || rest.length > 0) return undefined
  if (!keys.some((key) => timingSafeEqual(macOf(payload, key), mac))) return undefined
  if (payload[0] !== VERSION) return undefined
  return {
    id: formatUuid(payload.toString('hex', ID_AT, KEY_AT)),
    publicKey: new Uint8Array(payload.subarray(KEY_AT)),
    difficulty: payload.readUInt8(1),
    expiresAt: payload.readUIntBE(EXPIRY_AT, ID_AT - EXPIRY_AT),
  }
}

function macOf(payload: Uint8Array, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(payload).digest()
}

/** Node's decoder passes over what it does not know, so the text must be the one spelling of its bytes. */
function decodeBase64Url(text: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === length && bytes.toString('base64url') === text ? bytes : undefined
}

function formatUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
