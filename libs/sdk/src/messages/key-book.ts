import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { parsePublicKey } from '@svc/svc1/public-key.ts'

/** Public keys by agent id. An id is the hash of its key, so an entry is never wrong or stale. */
export interface KeyBook {
  /** Raw 32 bytes. */
  find(agentId: string): Uint8Array | undefined
  /**
   * @param pubkey `ed25519:<HEX>`.
   * @returns the agent id.
   * @throws TypeError for a key that the service would not register.
   */
  add(pubkey: string): string
}

/** Beyond this number the oldest key is dropped, so that the memory of a client that looks up many agents stays bounded. */
const MAX_KEYS = 10_000

export function createKeyBook(): KeyBook {
  const keys = new Map<string, Uint8Array>()
  return {
    find: (agentId) => keys.get(agentId),
    add(pubkey) {
      const publicKey = publicKeyOf(pubkey)
      const agentId = agentIdOf(publicKey)
      const [oldest] = keys.keys()
      if (oldest !== undefined && keys.size >= MAX_KEYS && !keys.has(agentId)) keys.delete(oldest)
      keys.set(agentId, publicKey)
      return agentId
    },
  }
}

/** The 32 bytes of `ed25519:<HEX>`. @throws TypeError for a key that the service would not register (spec 2.2). */
export function publicKeyOf(pubkey: string): Uint8Array {
  const publicKey = parsePublicKey(pubkey)
  if (publicKey === undefined)
    throw new TypeError('a public key must be ed25519:<64 hex digits>, and a curve point of prime order')
  return publicKey
}
