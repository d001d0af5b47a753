import { sha512 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { ORDER, Point } from './ed25519.ts'
import { decodePublicKey } from './public-key.ts'

/**
 * Verifies a signature on any runtime: RFC 8032 without cofactor, S < L, R is not of small order, the bytes of R
 * equal the encoding of S·B − k·A (spec 3.4). `verify` of @noble/ed25519 cannot be used: its default mode accepts everything that
 * ZIP 215 accepts, and its strict mode multiplies by the cofactor.
 * @param signature 64 bytes, R ‖ S.
 * @param message for a request: the UTF-8 bytes of the seven lines, from `signedString`.
 * @param publicKey 32 bytes. A key that spec 2.2 does not allow verifies nothing, so a caller need not check the key.
 * @returns false if the signature does not match. @throws RangeError if a length is wrong.
 */
export function verifySignature(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== 64) throw new RangeError('a signature must have 64 bytes')
  if (publicKey.length !== 32) throw new RangeError('a public key must have 32 bytes')
  const a = pointOf(publicKey)
  if (a === undefined) return false
  const r = signature.subarray(0, 32)
  const s = littleEndian(signature.subarray(32))
  if (s >= ORDER) return false
  const challenge = sha512.create().update(r).update(publicKey).update(message).digest()
  const k = littleEndian(challenge) % ORDER
  const expected = Point.BASE.multiplyUnsafe(s).subtract(a.multiplyUnsafe(k))
  // An allowed key is in the prime-order subgroup, and so is this point. Its only possible point of small order is
  // therefore the identity.
  return !expected.is0() && expected.toBytes().every((byte, index) => byte === r[index])
}

// A client reads many messages from few senders, and checking a key costs nearly as much as a verification.
const POINTS_MAX = 256
const points = new Map<string, Point>()

/** The point of an allowed key. Caches the last `POINTS_MAX` new keys; entries never go stale, because a key's point never changes. */
function pointOf(publicKey: Uint8Array): Point | undefined {
  const hex = bytesToHex(publicKey)
  const known = points.get(hex)
  if (known !== undefined) return known
  const point = decodePublicKey(publicKey)
  if (point === undefined) return undefined
  const [oldest] = points.keys()
  if (oldest !== undefined && points.size >= POINTS_MAX) points.delete(oldest)
  points.set(hex, point)
  return point
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytesToHex(Uint8Array.from(bytes).reverse())}`)
}
