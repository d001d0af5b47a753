import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { sign } from './ed25519.ts'
import { AUTHORIZATION_HEADER, formatAuthorization, NONCE_HEADER, TIMESTAMP_HEADER } from './headers.ts'
import type { KeyPair } from './key-pair.ts'
import { EMPTY_BODY_SHA256, signedString } from './signed-string.ts'

export interface UnsignedRequest {
  /** The authority that the discovery manifest announces. */
  readonly authority: string
  /** HTTP method in upper case. */
  readonly method: string
  /** Path and query, exactly as they will be sent. */
  readonly target: string
  /** The exact bytes that will be sent; absent if there is no body. */
  readonly body?: Uint8Array | undefined
  /** Unix seconds; default: the time of the local clock. A client that corrects its clock by `Date` passes the corrected time. */
  readonly timestamp?: number | undefined
  /** An even number of hex digits, 32 to 128, never used before; default: 16 random bytes. */
  readonly nonce?: string | undefined
}

type SignatureHeaders = Record<typeof AUTHORIZATION_HEADER | typeof TIMESTAMP_HEADER | typeof NONCE_HEADER, string>

const NONCE_BYTES = 16
const utf8 = new TextEncoder()

/** Signs one request. @returns the three headers to send with it. Sign every retry anew, so that its nonce is new (spec 13.2). */
export function signRequest(key: KeyPair, request: UnsignedRequest): SignatureHeaders {
  const { authority, method, target, body } = request
  const timestamp = String(request.timestamp ?? Math.floor(Date.now() / 1000))
  const nonce = request.nonce ?? bytesToHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)))
  const bodySha256Hex = body === undefined ? EMPTY_BODY_SHA256 : bytesToHex(sha256(body))
  const lines = signedString({ authority, method, target, timestamp, nonce, bodySha256Hex })
  return {
    [AUTHORIZATION_HEADER]: formatAuthorization({
      agentId: key.agentId,
      signature: signBytes(utf8.encode(lines), key.secretKey),
    }),
    [TIMESTAMP_HEADER]: timestamp,
    [NONCE_HEADER]: nonce,
  }
}

/** The 64 bytes of an RFC 8032 signature. @param secretKey 32 bytes. */
export function signBytes(message: Uint8Array, secretKey: Uint8Array): Uint8Array {
  return sign(message, secretKey)
}
