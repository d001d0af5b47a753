import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'

const ID_BYTES = 16
const utf8 = new TextEncoder()

/**
 * An envelope id that only the holder of a key can foresee. The same purpose and text give the same id, in every process, so
 * a message with such an id is accepted once even if its sender has forgotten that it sent it. Nobody else can occupy the id.
 * @param secretKey 32 bytes. The id reveals nothing about it.
 * @returns 32 hex digits.
 */
export function derivedId(secretKey: Uint8Array, purpose: string, text: string): string {
  const secret = hmac(sha256, secretKey, utf8.encode(`SVC1 derived id\n${purpose}`))
  const bytes = hmac(sha256, secret, utf8.encode(text)).slice(0, ID_BYTES)
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
