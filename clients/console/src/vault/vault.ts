/**
 * The data that this browser keeps for its owner: keys of agents and private records, encrypted, in IndexedDB. A random master key
 * encrypts every record. The passphrase encrypts only the master key, so changing it is one write. Without the passphrase
 * nothing in the database is readable, neither names nor ids.
 */
import type { ReadonlySignal } from '@preact/signals'
import type { AgentKey } from '@svc/sdk'
import type { AgentStore } from './agent-store.ts'

/**
 * - `opening`: the database is being opened.
 * - `none`: this browser has no vault yet. Ask for a new passphrase, then `create`.
 * - `locked`: ask for the passphrase, then `unlock`. Also the state after every reload.
 * - `unlocked`: `agents`, `keyOf` and `storeOf` work.
 * - `failed`: this browser stores nothing, for example in a private window.
 */
export type VaultState = 'opening' | 'none' | 'locked' | 'unlocked' | 'failed'

/** An agent whose key this browser keeps. */
export interface KeptAgent {
  readonly agentId: string
  readonly pubkey: string
  /** Undefined until the agent is registered, as far as this browser knows. */
  readonly name: string | undefined
  /** When this browser got the key, in epoch milliseconds. */
  readonly addedAtMs: number
}

/** All signals and calls concern this tab; all tabs of the origin share the database. Calls reject with a VaultError. */
export interface Vault {
  readonly state: ReadonlySignal<VaultState>
  /** Sorted by `addedAtMs`. Empty unless the vault is unlocked. Changes of other tabs appear here too. */
  readonly agents: ReadonlySignal<readonly KeptAgent[]>

  /** Makes the vault, and unlocks it. Takes about a second, because the key derivation is slow on purpose. */
  create(passphrase: string): Promise<void>
  /** Takes about a second. Codes: `wrong_passphrase`. */
  unlock(passphrase: string): Promise<void>
  /** Forgets all keys, in all tabs. Also happens by itself after `idleLimitMs` without `noteActivity` in any tab. */
  lock(): void
  /** Call it on input of the owner (keys, pointer). Cheap, so it may be called on every event. */
  noteActivity(): void
  /** Locks after this long without activity. 0: never. Kept in the vault; default 15 minutes. */
  readonly idleLimitMs: ReadonlySignal<number>
  setIdleLimit(ms: number): Promise<void>
  /** Codes: `wrong_passphrase` for `current`, `weak_passphrase` for `next`. */
  changePassphrase(current: string, next: string): Promise<void>
  /** Deletes everything, for all agents, in all tabs. Cannot be undone. Works while locked. */
  wipe(): Promise<void>

  /** Makes a key and stores it, before anything is registered with it. */
  createAgent(): Promise<KeptAgent>
  /**
   * Stores the key of a key file of the CLI (`svc keygen`, `svc init`). A key that the vault has already is not an error.
   * Codes: `not_a_key_file`.
   */
  importAgent(keyFileText: string): Promise<KeptAgent>
  /** The text of a key file for the CLI. Never show it: offer it as a file (vault/save-file.ts). */
  exportAgent(agentId: string): string
  /** Remembers under which name the agent is registered. */
  setAgentName(agentId: string, name: string): Promise<void>
  /** Deletes the key and all records of one agent in this browser. The agent itself stays registered. */
  removeAgent(agentId: string): Promise<void>

  /** For `new AgentClient({ key })`. Drop the client when `state` is no longer `unlocked`. Throws `locked`, `unknown_agent`. */
  keyOf(agentId: string): AgentKey
  /** Throws `locked`, `unknown_agent`. */
  storeOf(agentId: string): AgentStore
}
