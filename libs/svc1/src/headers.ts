import { hexToBytes } from '@noble/hashes/utils.js'
import { isAgentId } from './agent-id.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'

/** The three headers of a signed request, in lower case, as Node returns them. Source: spec 3.2. */
export const AUTHORIZATION_HEADER = 'authorization'
export const TIMESTAMP_HEADER = 'x-svc-timestamp'
export const NONCE_HEADER = 'x-svc-nonce'

interface Authorization {
  /** 32 bytes in base58. There may be no agent with this id. */
  readonly agentId: string
  /** 64 bytes, R ‖ S. */
  readonly signature: Uint8Array
}

const SIGNATURE_BYTES = 64
const AUTHORIZATION_FORM = /^SVC ([1-9A-HJ-NP-Za-km-z]{32,44}):([A-Za-z0-9+/]{86}==)$/
// 15 digits fit exactly into a double. Leading zeros are refused, so that each number has only one form.
const TIMESTAMP_FORM = /^(?:0|[1-9][0-9]{0,14})$/
const NONCE_FORM = /^(?:[0-9a-fA-F]{2}){16,64}$/

/** Formats `SVC <AGENT_ID>:<BASE64_ED25519_SIGNATURE>`. */
export function formatAuthorization({ agentId, signature }: Authorization): string {
  return `SVC ${agentId}:${encodeBase64(signature)}`
}

/**
 * Parses an Authorization header: the scheme `SVC` in upper case, one space, an agent id, a colon, and canonical base64
 * of 64 bytes (spec 2.3, 2.4). @returns undefined for anything else, which is 401 `unauthenticated`.
 */
export function parseAuthorization(value: string): Authorization | undefined {
  const [, agentId, base64] = AUTHORIZATION_FORM.exec(value) ?? []
  if (agentId === undefined || base64 === undefined || !isAgentId(agentId)) return undefined
  const signature = decodeBase64(base64)
  return signature?.length === SIGNATURE_BYTES ? { agentId, signature } : undefined
}

/** Parses X-SVC-Timestamp: Unix seconds, 1 to 15 decimal digits, no sign, no leading zero. @returns undefined for anything else. */
export function parseTimestamp(value: string): number | undefined {
  return TIMESTAMP_FORM.test(value) ? Number(value) : undefined
}

/**
 * Parses X-SVC-Nonce: an even number of hex digits, 32 to 128, in either case (spec 3.2).
 * @returns its 16 to 64 bytes, because nonces are compared by their bytes (spec 3.7); undefined for anything else.
 */
export function parseNonce(value: string): Uint8Array | undefined {
  return NONCE_FORM.test(value) ? hexToBytes(value) : undefined
}
