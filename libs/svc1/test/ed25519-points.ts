import { sha512 } from '@noble/hashes/sha2.js'
import { ORDER, Point } from '../src/ed25519.ts'

/** Curve arithmetic for tests, to make signatures that no honest signer would make. */

/** A point of order 8. Its multiples are the eight points of small order. */
export const TORSION = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa')

export function encodeScalar(scalar: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse())
}

export function decodeScalar(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

/** The secret scalar of RFC 8032, section 5.1.5, modulo L. */
export function secretScalar(secretKey: Uint8Array): bigint {
  const head = sha512(secretKey).slice(0, 32)
  head[0] = (head[0] ?? 0) & 248
  head[31] = ((head[31] ?? 0) & 127) | 64
  return decodeScalar(head) % ORDER
}

/** A signature that uses these bytes as R, as if they encoded r·B: S = r + k·a. */
export function signWith(
  { r, rBytes }: { r: bigint; rBytes: Uint8Array },
  { secret, publicKey }: { secret: bigint; publicKey: Uint8Array },
  message: Uint8Array,
): Uint8Array {
  const k = decodeScalar(sha512(Uint8Array.from([...rBytes, ...publicKey, ...message]))) % ORDER
  return Uint8Array.from([...rBytes, ...encodeScalar((r + k * secret) % ORDER)])
}
