/** The keys of an unlocked vault, in memory. */
import type { AgentKey } from '@svc/sdk/keys.ts'
import { keyFromSeed, seedOf } from '@svc/sdk/keys.ts'
import { createRecords, deletionsOf, type OpenVault } from './agent-store.ts'
import { VaultError } from './vault-error.ts'

/** An agent whose key this browser keeps. */
export interface KeptAgent {
  readonly agentId: string
  readonly pubkey: string
  /** Undefined until the agent is registered, as far as this browser knows. */
  readonly name: string | undefined
  /** When this browser got the key, in epoch milliseconds. */
  readonly addedAtMs: number
  /** Whether a person has a copy of the key: it came from a file, or was saved in one. */
  readonly isSaved: boolean
}

interface KeptKey {
  readonly seed: string
  readonly name: string | undefined
  readonly addedAtMs: number
  readonly isSaved?: boolean
}

const SCOPE = ['keys']

export class Keyring {
  readonly #unlocked: () => OpenVault
  readonly #records: ReturnType<typeof createRecords<KeptKey>>
  readonly #keys = new Map<string, { readonly key: AgentKey; readonly agent: KeptAgent }>()

  /** @param unlocked throws VaultError `locked` if the vault is no longer unlocked. */
  constructor(unlocked: () => OpenVault) {
    this.#unlocked = unlocked
    this.#records = createRecords<KeptKey>(SCOPE, unlocked)
  }

  /** Sorted by the time at which they were added. */
  agents(): KeptAgent[] {
    return [...this.#keys.values()].map(({ agent }) => agent).toSorted((a, b) => a.addedAtMs - b.addedAtMs)
  }

  /** @throws VaultError `unknown_agent`. */
  keyOf(agentId: string): AgentKey {
    return this.#getKept(agentId).key
  }

  /** Reads all keys again, because another tab may have changed them. */
  async load(): Promise<void> {
    const kept = await this.#records.list()
    this.#unlocked()
    for (const { value } of kept) this.#hold(keyFromSeed(value.seed), value)
    const ids = new Set(kept.map(({ id }) => id))
    for (const agentId of [...this.#keys.keys()]) if (!ids.has(agentId)) this.#drop(agentId)
  }

  /** Stores a key, unless it is stored already. @param isSaved whether a person has a copy of it. */
  async add(key: AgentKey, isSaved: boolean): Promise<KeptAgent> {
    const known = this.#keys.get(key.agentId)
    if (known === undefined)
      return this.#keep(key, { seed: seedOf(key), name: undefined, addedAtMs: Date.now(), isSaved })
    return isSaved && !known.agent.isSaved ? this.change(key.agentId, { isSaved }) : known.agent
  }

  async change(agentId: string, changes: Partial<Pick<KeptAgent, 'name' | 'isSaved'>>): Promise<KeptAgent> {
    const { key, agent } = this.#getKept(agentId)
    const { name, addedAtMs, isSaved } = { ...agent, ...changes }
    return this.#keep(key, { seed: seedOf(key), name, addedAtMs, isSaved })
  }

  async remove(agentId: string): Promise<void> {
    const { cipher, records } = this.#unlocked()
    const changes = [...(await deletionsOf(agentId, cipher)), { place: await cipher.placeOf(SCOPE, agentId) }]
    await records.write(changes)
    this.#drop(agentId)
  }

  /** Overwrites the keys in memory. Clients that still hold one can no longer sign. */
  forget(): void {
    for (const agentId of [...this.#keys.keys()]) this.#drop(agentId)
  }

  async #keep(key: AgentKey, kept: KeptKey): Promise<KeptAgent> {
    await this.#records.put(key.agentId, kept)
    this.#unlocked()
    return this.#hold(key, kept)
  }

  #hold(key: AgentKey, { name, addedAtMs, isSaved = false }: KeptKey): KeptAgent {
    const { agentId, pubkey } = key
    const agent = { agentId, pubkey, name, addedAtMs, isSaved }
    // A client may hold the key object, so it stays the same.
    this.#keys.set(agentId, { key: this.#keys.get(agentId)?.key ?? key, agent })
    return agent
  }

  #getKept(agentId: string): { readonly key: AgentKey; readonly agent: KeptAgent } {
    const kept = this.#keys.get(agentId)
    if (kept === undefined) throw new VaultError('unknown_agent', `the vault has no key of ${agentId}`)
    return kept
  }

  #drop(agentId: string): void {
    this.#keys.get(agentId)?.key.secretKey.fill(0)
    this.#keys.delete(agentId)
  }
}
