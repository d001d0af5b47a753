import { Point } from '@noble/ed25519'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'

const PUBLIC_KEY_BYTES = 32
const PUBLIC_KEY_TEXT = /^ed25519:([0-9a-fA-F]{64})$/

/**
 * Parses `ed25519:<HEX>`, hex in either case (spec 2.2).
 * @param isAllowed checks the 32 bytes: `isPublicKey`, or the same check by another engine.
 * @returns the 32 raw bytes; undefined if the text has another form or the key is not allowed. It does not throw, because
 * the caller chooses the error: `invalid_pubkey` at the edge, a typed error in the SDK.
 */
export function parsePublicKey(
  text: string,
  isAllowed: (bytes: Uint8Array) => boolean = isPublicKey,
): Uint8Array | undefined {
  const bytes = decodePublicKeyText(text)
  return bytes !== undefined && isAllowed(bytes) ? bytes : undefined
}

/** @returns the 32 raw bytes of `ed25519:<HEX>`, without checking the key; undefined if the text has another form. */
export function decodePublicKeyText(text: string): Uint8Array | undefined {
  const hex = PUBLIC_KEY_TEXT.exec(text)?.[1]
  return hex === undefined ? undefined : hexToBytes(hex)
}

/**
 * Formats a key as `ed25519:<hex>` in lower case, as it is stored and returned (spec 2.2).
 * @param publicKey 32 raw bytes. @throws RangeError for another length.
 */
export function formatPublicKey(publicKey: Uint8Array): string {
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new RangeError('a public key must have 32 bytes')
  return `ed25519:${bytesToHex(publicKey)}`
}

/**
 * Whether the bytes are the canonical encoding of a point of the prime-order subgroup other than the identity (spec 2.2).
 * Costs a scalar multiplication, about 0.7 ms. That is fine for registration and for clients, but not for every request.
 */
export function isPublicKey(bytes: Uint8Array): boolean {
  return decodePublicKey(bytes) !== undefined
}

/** The point of a key that `isPublicKey` accepts; otherwise undefined. */
export function decodePublicKey(bytes: Uint8Array): Point | undefined {
  if (bytes.length !== PUBLIC_KEY_BYTES) return undefined
  let point: Point
  try {
    point = Point.fromBytes(bytes) // RFC 8032 decoding: refuses y >= p, and x = 0 with the sign bit
  } catch {
    return undefined
  }
  return !point.is0() && point.isTorsionFree() ? point : undefined
}
