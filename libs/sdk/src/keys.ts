import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'

/**
 * An agent's key. The secret is not enumerable, so that `console.log`, `JSON.stringify` and spreading leave it out;
 * `formatKey` is the way to write it down.
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
 * The key of a seed (RFC 8032's 32 secret bytes), as bytes or as 64 hex digits.
 * @throws TypeError for anything else.
 */
export function keyFromSeed(seed: Uint8Array | string): AgentKey {
  const bytes = typeof seed === 'string' ? bytesOfHex(seed) : Uint8Array.from(seed)
  if (bytes?.length !== 32) throw new TypeError('a seed is 32 bytes, or 64 hex digits')
  return agentKeyOf(createKeyPair(bytes))
}

/** The seed in 64 hex digits. Whoever has it is the agent, for ever: there is no rotation and no recovery. */
export function seedOf(key: AgentKey): string {
  return Array.from(key.secretKey, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The key as JSON text of one line: `{"algorithm":"ed25519","agent_id","pubkey","seed"}`, the seed in hex. Secret. */
export function formatKey(key: AgentKey): string {
  const { agentId, pubkey } = key
  return JSON.stringify({ algorithm: 'ed25519', agent_id: agentId, pubkey, seed: seedOf(key) })
}

/**
 * Reads what `formatKey` wrote. `agent_id` and `pubkey` are optional, but must be the seed's where they are there.
 * @throws TypeError which says what is wrong, and never shows the text.
 */
export function parseKey(text: string): AgentKey {
  const fields = parseObject(text)
  if (fields === undefined) throw new TypeError('a key is a JSON object with the member "seed"')
  if (fields.algorithm !== undefined && fields.algorithm !== 'ed25519') {
    throw new TypeError('the key is not for ed25519')
  }
  if (typeof fields.seed !== 'string') throw new TypeError('the key has no "seed" of 64 hex digits')
  const key = keyFromSeed(fields.seed)
  if (fields.pubkey !== undefined && fields.pubkey !== key.pubkey) {
    throw new TypeError('the key contradicts itself: "pubkey" is not that of "seed"')
  }
  if (fields.agent_id !== undefined && fields.agent_id !== key.agentId) {
    throw new TypeError('the key contradicts itself: "agent_id" is not that of "seed"')
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
