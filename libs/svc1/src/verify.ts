import { sha512 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { ORDER, Point } from './ed25519.ts'
import { decodePublicKey } from './public-key.ts'

/**
 * Verifies a signature on any runtime: RFC 8032 without cofactor, S < L, R is not of small order, the bytes of R
 * equal the encoding of S·B − k·A (spec 3.4). Not `verify` of @noble/ed25519: its default accepts what ZIP 215 does, and its strict mode
 * multiplies by the cofactor.
 * @param signature 64 bytes, R ‖ S.
 * @param message for a request the UTF-8 bytes of the seven lines, from `signedString`.
 * @param publicKey 32 bytes; one that spec 2.2 does not allow verifies nothing, so no caller can forget to check it.
 * @returns false when it is well formed and does not match. @throws RangeError when a length is wrong.
 */
export function verifySignature(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== 64) throw new RangeError('a signature has 64 bytes')
  if (publicKey.length !== 32) throw new RangeError('a public key has 32 bytes')
  const a = pointOf(publicKey)
  if (a === undefined) return false
  const r = signature.subarray(0, 32)
  const s = littleEndian(signature.subarray(32))
  if (s >= ORDER) return false
  const challenge = sha512.create().update(r).update(publicKey).update(message).digest()
  const k = littleEndian(challenge) % ORDER
  const expected = Point.BASE.multiplyUnsafe(s).subtract(a.multiplyUnsafe(k))
  // An allowed key is of prime order, and so is this point: the identity is the one point of small order that it can be.
  return !expected.is0() && expected.toBytes().every((byte, index) => byte === r[index])
}

// A client reads many messages of few senders, and checking a key costs nearly as much as verifying with it.
const POINTS_MAX = 256
const points = new Map<string, Point>()

/** The point of an allowed key, from among the last `POINTS_MAX` that were new. A key's point never changes, so none is ever stale. */
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
