import { getPublicKey, hashes, Point, sign } from '@noble/ed25519'
import { sha512 } from '@noble/hashes/sha2.js'

// Version 3 of @noble/ed25519 needs SHA-512 from its user. Code that signs or derives keys imports the curve from this file, so
// that the hash is always set.
hashes.sha512 = sha512

/** Order of the prime-order subgroup, L in RFC 8032. */
const ORDER: bigint = Point.CURVE().n

export { getPublicKey, ORDER, Point, sign }
