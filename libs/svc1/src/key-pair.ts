import { agentIdOf } from './agent-id.ts'
import { getPublicKey } from './ed25519.ts'

export interface KeyPair {
  /** 32 bytes, the seed of RFC 8032. */
  readonly secretKey: Uint8Array
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** base58 of SHA-256 of the public key (spec 2.3). */
  readonly agentId: string
}

/**
 * Creates the key pair of a secret key, or a new one from the platform's random source.
 * @throws RangeError if the secret key does not have 32 bytes.
 */
export function createKeyPair(secretKey: Uint8Array = crypto.getRandomValues(new Uint8Array(32))): KeyPair {
  if (secretKey.length !== 32) throw new RangeError('a secret key must have 32 bytes')
  const publicKey = getPublicKey(secretKey)
  return { secretKey, publicKey, agentId: agentIdOf(publicKey) }
}
