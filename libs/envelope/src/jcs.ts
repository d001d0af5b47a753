import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import canonicalize from 'canonicalize'

const utf8 = new TextEncoder()

/**
 * Canonical JSON, RFC 8785 (spec 2.6). A value that came from `parseIJson` always has one.
 * What JSON.stringify leaves out (undefined, functions) or asks for (`toJSON`) is treated as JSON.stringify does, so that an object
 * signed and an object sent are the same.
 * @throws Error for a lone surrogate, NaN, an infinity, a cycle, and what is no JSON at all.
 */
export function jcs(value: unknown): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('the value is not JSON')
  return text
}

/** The UTF-8 bytes of `jcs`, which is what signatures are over. */
export function jcsBytes(value: unknown): Uint8Array<ArrayBuffer> {
  return utf8.encode(jcs(value))
}

/** Lower-case hex SHA-256 of the UTF-8 bytes of a text. */
export type Sha256Hex = (text: string) => string

/** `Sha256Hex` for any runtime. Node's own, `(text) => hash('sha256', text)`, is 5 times as fast. */
export function sha256Hex(text: string): string {
  return bytesToHex(sha256(utf8.encode(text)))
}

/** SHA-256 of the JCS bytes in lower-case hex: what an identical retry is told by (spec 7.4). */
export function jcsDigest(value: unknown, hash: Sha256Hex = sha256Hex): string {
  return hash(jcs(value))
}
