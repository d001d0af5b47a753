import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import canonicalize from 'canonicalize'

const utf8 = new TextEncoder()

/**
 * Canonical JSON, RFC 8785 (spec 2.6). Every value from `parseIJson` has a canonical form.
 * Undefined, functions and `toJSON` are treated as in JSON.stringify, so that the signed object equals the sent object.
 * @throws Error for a lone surrogate, NaN, an infinity, a cycle, and any value that is not JSON.
 */
export function jcs(value: unknown): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('the value is not JSON')
  return text
}

/** The UTF-8 bytes of `jcs`. Signatures cover these bytes. */
export function jcsBytes(value: unknown): Uint8Array<ArrayBuffer> {
  return utf8.encode(jcs(value))
}

/** Lower-case hex SHA-256 of the UTF-8 bytes of a text. */
type Sha256Hex = (text: string) => string

/** Works as `Sha256Hex` on any runtime. Node's own function, `(text) => hash('sha256', text)`, is 5 times as fast. */
function sha256Hex(text: string): string {
  return bytesToHex(sha256(utf8.encode(text)))
}

/** SHA-256 of the JCS bytes in lower-case hex. It identifies an identical retry (spec 7.4). */
export function jcsDigest(value: unknown, hash: Sha256Hex = sha256Hex): string {
  return hash(jcs(value))
}
