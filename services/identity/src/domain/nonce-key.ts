import { hash } from 'node:crypto'

const KEY_HEX_DIGITS = 32

/**
 * What a consumed nonce is stored by: the first 16 bytes of SHA-256 over `<agent id>:<nonce>`, in hex. It has one size
 * whatever the nonce's, and whoever looks for two nonces of one key finds two of their own.
 * @param nonce lower-case hex, so that its bytes have one spelling (spec 3.7).
 */
export function nonceKey(agentId: string, nonce: string): string {
  return hash('sha256', `${agentId}:${nonce}`, 'hex').slice(0, KEY_HEX_DIGITS)
}
