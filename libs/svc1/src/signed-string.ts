import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/** The parts of a request that its signature covers. Source: spec 3.3. */
interface SignedParts {
  /** The authority that the discovery manifest announces, with its port if it has one. */
  readonly authority: string
  /** HTTP method in upper case. */
  readonly method: string
  /** Path and query, exactly as sent, including percent-encoding and the order of the query. ASCII, as on the wire. */
  readonly target: string
  /** Text of X-SVC-Timestamp. */
  readonly timestamp: string
  /** Text of X-SVC-Nonce, in the case in which it was sent. */
  readonly nonce: string
  /** Lower-case hex SHA-256 of the exact bytes of the body; `EMPTY_BODY_SHA256` if it is empty. */
  readonly bodySha256Hex: string
}

/** SHA-256 of zero bytes. */
export const EMPTY_BODY_SHA256: string = bytesToHex(sha256(new Uint8Array()))

/** The seven lines, joined by line feeds, with none after the last. The signature covers their UTF-8 bytes. */
export function signedString(parts: SignedParts): string {
  const { authority, method, target, timestamp, nonce, bodySha256Hex } = parts
  return `SVC1\n${authority}\n${method}\n${target}\n${timestamp}\n${nonce}\n${bodySha256Hex}`
}
