import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/** What a request signature covers. Source: spec 3.3. */
export interface SignedParts {
  /** As the discovery manifest announces it, with the port where there is one. */
  readonly authority: string
  /** HTTP method in upper case. */
  readonly method: string
  /** Path and query exactly as sent: percent-encoding and order of the query included. ASCII, as on the wire. */
  readonly target: string
  /** Text of X-SVC-Timestamp. */
  readonly timestamp: string
  /** Text of X-SVC-Nonce, in the case it was sent in. */
  readonly nonce: string
  /** Lower-case hex SHA-256 of the exact body bytes; `EMPTY_BODY_SHA256` where there are none. */
  readonly bodySha256Hex: string
}

/** SHA-256 of zero bytes. */
export const EMPTY_BODY_SHA256: string = bytesToHex(sha256(new Uint8Array()))

/** The seven lines, joined by line feeds, none after the last; the signature is over their UTF-8 bytes. */
export function signedString(parts: SignedParts): string {
  const { authority, method, target, timestamp, nonce, bodySha256Hex } = parts
  return `SVC1\n${authority}\n${method}\n${target}\n${timestamp}\n${nonce}\n${bodySha256Hex}`
}
