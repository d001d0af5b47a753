import { sha256 } from '@noble/hashes/sha2.js'
import base58 from 'bs58'

const AGENT_ID_BYTES = 32
// 32 bytes have 43 or 44 digits, fewer only by leading zeros, each of which is one digit '1'. The bound comes first
// because decoding is quadratic.
const AGENT_ID_FORM = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
// Digits rise in the order of their character codes, so texts of one length compare as their numbers do, and most ids need
// not be decoded, which would take 2.4 µs: the gateway looks at two for each message.
const LEAST = base58.encode(Uint8Array.of(1, ...new Uint8Array(AGENT_ID_BYTES - 1)))
const GREATEST = base58.encode(new Uint8Array(AGENT_ID_BYTES).fill(0xff))

/** The agent id of a key: base58 (Bitcoin alphabet) of SHA-256 of its 32 raw bytes (spec 2.3). */
export function agentIdOf(publicKey: Uint8Array): string {
  return base58.encode(sha256(publicKey))
}

/** Whether the text is the base58 spelling of 32 bytes. There is one spelling, so ids are compared as text. */
export function isAgentId(text: string): boolean {
  if (!AGENT_ID_FORM.test(text)) return false
  if (text.startsWith('1')) return base58.decodeUnsafe(text)?.length === AGENT_ID_BYTES
  return text.length === GREATEST.length ? text <= GREATEST : text.length === LEAST.length && text >= LEAST
}
