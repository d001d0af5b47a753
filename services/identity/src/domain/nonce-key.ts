import { hash } from 'node:crypto'

const KEY_HEX_DIGITS = 32

/**
 * The key under which a consumed nonce is stored: the first 16 bytes of SHA-256 over `<agent id>:<nonce>`, in hex. Its
 * size does not depend on the nonce. An agent that finds a collision finds one between its own nonces only.
 * @param nonce Lower-case hex, so that equal bytes have equal text (spec 3.7).
 */
export function nonceKey(agentId: string, nonce: string): string {
  return hash('sha256', `${agentId}:${nonce}`, 'hex').slice(0, KEY_HEX_DIGITS)
}
