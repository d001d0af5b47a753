import { sha256 } from '@noble/hashes/sha2.js'
import base58 from 'bs58'

const AGENT_ID_BYTES = 32
// 32 bytes have 43 or 44 digits. Leading zero bytes make it fewer, because each becomes only one digit '1'. Check the
// length before decoding, because decoding takes quadratic time.
const AGENT_ID_FORM = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
// Decoding takes 2.4 µs, and the gateway checks two ids for each message. Most ids need no decoding: the digits are in the
// order of their character codes, so texts of equal length compare like the numbers that they encode.
const LEAST = base58.encode(Uint8Array.of(1, ...new Uint8Array(AGENT_ID_BYTES - 1)))
const GREATEST = base58.encode(new Uint8Array(AGENT_ID_BYTES).fill(0xff))

/** The agent id of a key: base58 (Bitcoin alphabet) of SHA-256 of its 32 raw bytes (spec 2.3). */
export function agentIdOf(publicKey: Uint8Array): string {
  return base58.encode(sha256(publicKey))
}

/** Whether the text is 32 bytes in base58. Each id has only one encoding, so ids are compared as text. */
export function isAgentId(text: string): boolean {
  if (!AGENT_ID_FORM.test(text)) return false
  if (text.startsWith('1')) return base58.decodeUnsafe(text)?.length === AGENT_ID_BYTES
  return text.length === GREATEST.length ? text <= GREATEST : text.length === LEAST.length && text >= LEAST
}
