import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/** The content of a challenge. Nothing is stored about a challenge until it is consumed (spec 5.4). */
export interface Challenge {
  /** UUID. The record of its consumption has this key. */
  readonly id: string
  /** 32 raw bytes. Only this key may register with the challenge. */
  readonly publicKey: Uint8Array
  /** Leading zero bits that the proof of work must have, even if the configuration has changed since. */
  readonly difficulty: number
  /** Unix seconds. The challenge is valid before this time, not at it. */
  readonly expiresAt: number
}

// Payload: version, difficulty, expiry (6 bytes, big-endian), id, key. The MAC over these bytes follows.
const VERSION = 1
const EXPIRY_AT = 2
const ID_AT = 8
const KEY_AT = 24
const PAYLOAD_BYTES = 56
const MAC_BYTES = 32

/** The text that the client receives: `<payload>.<HMAC-SHA256>`, both in unpadded base64url, 119 characters. */
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
 * @param keys Every key whose challenges are still valid. A rotation puts the new key in front and drops the old one
 *   later.
 * @returns undefined if the text is malformed or none of the keys made it. Also returns challenges that are expired
 *   or for another public key, because `judgeRegistration` decides about those.
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

/** Node's decoder skips characters that it does not know. Accepting only the canonical spelling keeps one text per value. */
function decodeBase64Url(text: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === length && bytes.toString('base64url') === text ? bytes : undefined
}

function formatUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
