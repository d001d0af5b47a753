import { hexToBytes } from '@noble/hashes/utils.js'
import { isAgentId } from './agent-id.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'

/** The three headers of a signed request, in the lower case that Node gives them. Source: spec 3.2. */
export const AUTHORIZATION_HEADER = 'authorization'
export const TIMESTAMP_HEADER = 'x-svc-timestamp'
export const NONCE_HEADER = 'x-svc-nonce'

export interface Authorization {
  /** Spelling of 32 bytes in base58; whether anybody has it is another question. */
  readonly agentId: string
  /** 64 bytes, R ‖ S. */
  readonly signature: Uint8Array
}

const SIGNATURE_BYTES = 64
const AUTHORIZATION_FORM = /^SVC ([1-9A-HJ-NP-Za-km-z]{32,44}):([A-Za-z0-9+/]{86}==)$/
// 15 digits stay within the integers that a double holds; one spelling for each number, so no leading zeros.
const TIMESTAMP_FORM = /^(?:0|[1-9][0-9]{0,14})$/
const NONCE_FORM = /^(?:[0-9a-fA-F]{2}){16,64}$/

/** `SVC <AGENT_ID>:<BASE64_ED25519_SIGNATURE>`. */
export function formatAuthorization({ agentId, signature }: Authorization): string {
  return `SVC ${agentId}:${encodeBase64(signature)}`
}

/**
 * Parses an Authorization header: the scheme `SVC` in upper case, one space, an agent id, a colon, and canonical base64
 * of 64 bytes (spec 2.3, 2.4). Undefined for anything else, to be answered 401 `unauthenticated`.
 */
export function parseAuthorization(value: string): Authorization | undefined {
  const [, agentId, base64] = AUTHORIZATION_FORM.exec(value) ?? []
  if (agentId === undefined || base64 === undefined || !isAgentId(agentId)) return undefined
  const signature = decodeBase64(base64)
  return signature?.length === SIGNATURE_BYTES ? { agentId, signature } : undefined
}

/** Unix seconds of X-SVC-Timestamp: 1 to 15 decimal digits, no sign, no leading zero. Undefined for anything else. */
export function parseTimestamp(value: string): number | undefined {
  return TIMESTAMP_FORM.test(value) ? Number(value) : undefined
}

/**
 * The bytes of X-SVC-Nonce, 16 to 64, by which nonces are compared (spec 3.7): 32 to 128 hex digits in either case,
 * an even number of them (spec 3.2). Undefined for anything else.
 */
export function parseNonce(value: string): Uint8Array | undefined {
  return NONCE_FORM.test(value) ? hexToBytes(value) : undefined
}
