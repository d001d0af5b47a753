/** The keys of an unlocked vault, in memory. */
import type { AgentKey } from '@svc/sdk'
import { keyFromSeed, seedOf } from '@svc/sdk'
import { createRecords, deletionsOf, type OpenVault } from './agent-store.ts'
import type { KeptAgent } from './vault.ts'
import { VaultError } from './vault-error.ts'

interface Keyring {
  /** Sorted by the time at which they were added. */
  agents(): KeptAgent[]
  /** @throws VaultError `unknown_agent`. */
  keyOf(agentId: string): AgentKey
  /** Reads all keys again, because another tab may have changed them. */
  load(): Promise<void>
  /** Stores a key, unless it is stored already. */
  add(key: AgentKey): Promise<KeptAgent>
  setName(agentId: string, name: string): Promise<void>
  remove(agentId: string): Promise<void>
  /** Overwrites the keys in memory. Clients that still hold one can no longer sign. */
  forget(): void
}

interface KeptKey {
  readonly seed: string
  readonly name: string | undefined
  readonly addedAtMs: number
}

const SCOPE = ['keys']

export function createKeyring(unlocked: () => OpenVault): Keyring {
  const records = createRecords<KeptKey>(SCOPE, unlocked)
  const keys = new Map<string, { readonly key: AgentKey; readonly agent: KeptAgent }>()

  const hold = (key: AgentKey, { name, addedAtMs }: KeptKey): KeptAgent => {
    const { agentId, pubkey } = key
    const agent = { agentId, pubkey, name, addedAtMs }
    // A client may hold the key object, so it stays the same.
    keys.set(agentId, { key: keys.get(agentId)?.key ?? key, agent })
    return agent
  }
  const getKept = (agentId: string) => {
    const kept = keys.get(agentId)
    if (kept === undefined) throw new VaultError('unknown_agent', `the vault has no key of ${agentId}`)
    return kept
  }
  const drop = (agentId: string): void => {
    keys.get(agentId)?.key.secretKey.fill(0)
    keys.delete(agentId)
  }

  return {
    agents: () => [...keys.values()].map(({ agent }) => agent).toSorted((a, b) => a.addedAtMs - b.addedAtMs),
    keyOf: (agentId) => getKept(agentId).key,
    async load() {
      const kept = await records.list()
      unlocked()
      for (const { value } of kept) hold(keyFromSeed(value.seed), value)
      const ids = new Set(kept.map(({ id }) => id))
      for (const agentId of [...keys.keys()]) if (!ids.has(agentId)) drop(agentId)
    },
    async add(key) {
      const known = keys.get(key.agentId)
      if (known !== undefined) return known.agent
      const kept = { seed: seedOf(key), name: undefined, addedAtMs: Date.now() }
      await records.put(key.agentId, kept)
      unlocked()
      return hold(key, kept)
    },
    async setName(agentId, name) {
      const { key, agent } = getKept(agentId)
      const kept = { seed: seedOf(key), name, addedAtMs: agent.addedAtMs }
      await records.put(agentId, kept)
      unlocked()
      hold(key, kept)
    },
    async remove(agentId) {
      const { cipher, database, vaultId } = unlocked()
      const changes = [...(await deletionsOf(agentId, cipher)), { place: await cipher.placeOf(SCOPE, agentId) }]
      await database.write(vaultId, changes)
      drop(agentId)
    },
    forget() {
      for (const agentId of [...keys.keys()]) drop(agentId)
    },
  }
}
