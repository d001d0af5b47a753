import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'

/**
 * An agent's key. The secret is not enumerable, so `console.log`, `JSON.stringify` and spreading leave it out.
 * Use `formatKey` to store the key.
 */
export interface AgentKey extends KeyPair {
  /** `ed25519:<64 hex digits>`, lower case. */
  readonly pubkey: string
}

const SEED_HEX = /^[0-9a-fA-F]{64}$/

/** A new key from the platform's random source. */
export function generateKey(): AgentKey {
  return agentKeyOf(createKeyPair())
}

/**
 * The key that belongs to a seed.
 * @param seed the 32 secret bytes of RFC 8032, or 64 hex digits.
 * @throws TypeError for anything else.
 */
export function keyFromSeed(seed: Uint8Array | string): AgentKey {
  const bytes = typeof seed === 'string' ? bytesOfHex(seed) : Uint8Array.from(seed)
  if (bytes?.length !== 32) throw new TypeError('a seed must be 32 bytes or 64 hex digits')
  return agentKeyOf(createKeyPair(bytes))
}

/** The seed as 64 hex digits. Its holder can act as the agent for ever, since keys cannot be rotated or recovered. */
export function seedOf(key: AgentKey): string {
  return Array.from(key.secretKey, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The key as one line of JSON: `{"algorithm":"ed25519","agent_id","pubkey","seed"}`, the seed in hex. Keep it secret. */
export function formatKey(key: AgentKey): string {
  const { agentId, pubkey } = key
  return JSON.stringify({ algorithm: 'ed25519', agent_id: agentId, pubkey, seed: seedOf(key) })
}

/**
 * Reads the output of `formatKey`. `agent_id` and `pubkey` are optional. If present, they must belong to the seed.
 * @throws TypeError that says what is wrong, without showing any of the text.
 */
export function parseKey(text: string): AgentKey {
  const fields = parseObject(text)
  if (fields === undefined) throw new TypeError('a key must be a JSON object with the member "seed"')
  if (fields.algorithm !== undefined && fields.algorithm !== 'ed25519') {
    throw new TypeError('the "algorithm" of the key must be "ed25519"')
  }
  if (typeof fields.seed !== 'string') throw new TypeError('the "seed" of the key must be 64 hex digits')
  const key = keyFromSeed(fields.seed)
  if (fields.pubkey !== undefined && fields.pubkey !== key.pubkey) {
    throw new TypeError('the "pubkey" of the key does not belong to its "seed"')
  }
  if (fields.agent_id !== undefined && fields.agent_id !== key.agentId) {
    throw new TypeError('the "agent_id" of the key does not belong to its "seed"')
  }
  return key
}

function agentKeyOf({ agentId, publicKey, secretKey }: KeyPair): AgentKey {
  const key = { agentId, publicKey, secretKey, pubkey: formatPublicKey(publicKey) }
  Object.defineProperty(key, 'secretKey', { enumerable: false })
  return Object.freeze(key)
}

function bytesOfHex(hex: string): Uint8Array | undefined {
  if (!SEED_HEX.test(hex)) return undefined
  return Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16))
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
