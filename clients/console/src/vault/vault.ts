/**
 * The data that this browser keeps for its owner: keys of agents and private records, encrypted, in IndexedDB. A random master key
 * encrypts every record. The passphrase encrypts only the master key, so changing it is one write. Without the passphrase
 * nothing in the database is readable, neither names nor ids.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { type AgentKey, formatKey, generateKey, parseKey } from '@svc/sdk/keys.ts'
import { type AgentStore, createAgentStore, createRecords, type OpenVault } from './agent-store.ts'
import { createCipher } from './cipher.ts'
import {
  checkNewPassphrase,
  type DeriveKey,
  newMasterKey,
  unwrapMasterKey,
  type VaultHeader,
  wrapMasterKey,
} from './header.ts'
import { type IdleClock, startIdleClock } from './idle.ts'
import type { StorageTrouble } from './kept-records.ts'
import { type KeptAgent, Keyring } from './keyring.ts'
import { askToPersist } from './persistence.ts'
import { VaultStorage } from './storage.ts'
import { joinTabs, type TabMessage } from './tabs.ts'
import { VaultError } from './vault-error.ts'

/**
 * - `opening`: the database is being opened.
 * - `none`: this browser has no vault yet. Ask for a new passphrase, then `create`.
 * - `locked`: ask for the passphrase, then `unlock`. Also the state after every reload.
 * - `unlocked`: `agents`, `keyOf` and `storeOf` work.
 * - `failed`: this browser stores nothing, for example in a private window, or `trouble` says why.
 */
type VaultState = 'opening' | 'none' | 'locked' | 'unlocked' | 'failed'

const DEFAULT_IDLE_LIMIT_MS = 15 * 60_000
/** Other tabs hear of activity this often. */
const TELL_MS = 1_000
const IDLE_LIMIT = 'idle_limit_ms'

/** All signals and calls concern this tab; all tabs of the origin share the database. Calls reject with a VaultError. */
export class Vault {
  readonly #derive: DeriveKey
  readonly #storage = new VaultStorage({
    onNone: () => this.#leave('none'),
    onDeleted: (prefix) => this.#tabs.tell({ kind: 'deleted', prefix }),
  })
  readonly #unlocked = (): OpenVault => {
    if (this.#open === undefined) throw new VaultError('locked', 'the vault is locked')
    return this.#open
  }
  readonly #keyring = new Keyring(this.#unlocked)
  readonly #settings = createRecords<number>(['settings'], this.#unlocked)
  readonly #tabs = joinTabs((message) => this.#onMessage(message))
  readonly #state = signal<VaultState>('opening')
  readonly #agents = signal<readonly KeptAgent[]>([])
  readonly #idleLimitMs = signal(DEFAULT_IDLE_LIMIT_MS)
  #open: OpenVault | undefined
  #idle: IdleClock | undefined
  #toldMs = 0
  readonly state: ReadonlySignal<VaultState> = this.#state
  /** Sorted by `addedAtMs`. Empty unless the vault is unlocked. Changes of other tabs appear here too. */
  readonly agents: ReadonlySignal<readonly KeptAgent[]> = this.#agents
  /** Locks after this long without activity. 0: never. Kept in the vault; default 15 minutes. */
  readonly idleLimitMs: ReadonlySignal<number> = this.#idleLimitMs

  /** What keeps this tab from storing what it should. */
  readonly trouble: ReadonlySignal<StorageTrouble | undefined> = this.#storage.trouble

  /** @param derive the slow key derivation, in a worker (work/work.ts). */
  constructor(derive: DeriveKey) {
    this.#derive = derive
    this.#showState().catch(() => {
      this.#state.value = 'failed'
    })
  }

  /** Makes the vault, and unlocks it. Takes about a second, because the key derivation is slow on purpose. */
  async create(passphrase: string): Promise<void> {
    checkNewPassphrase(passphrase)
    const masterKey = newMasterKey()
    const header = await wrapMasterKey(masterKey, crypto.randomUUID(), passphrase, this.#derive)
    await this.#storage.add(header).catch(async (error: unknown) => {
      await this.#showState()
      throw error
    })
    await this.#enter(masterKey, header)
    this.#tabs.tell({ kind: 'created' })
  }

  /** Takes about a second. Codes: `wrong_passphrase`; `cleared`, `locked` if there is no vault any more. */
  async unlock(passphrase: string): Promise<void> {
    const header = await this.#storage.getHeader()
    await this.#enter(await unwrapMasterKey(header, passphrase, this.#derive), header)
  }

  /** Forgets all keys, in all tabs. Also happens by itself after `idleLimitMs` without `noteActivity` in any tab. */
  lock(): void {
    this.#leave('locked')
    this.#tabs.tell({ kind: 'lock' })
  }

  /** Call it on input of the owner (keys, pointer). Cheap, so it may be called on every event. */
  noteActivity(): void {
    if (this.#idle === undefined) return
    this.#idle.note()
    if (Date.now() - this.#toldMs < TELL_MS) return
    this.#toldMs = Date.now()
    this.#tabs.tell({ kind: 'activity' })
  }

  async setIdleLimit(ms: number): Promise<void> {
    await this.#changing(() => this.#settings.put(IDLE_LIMIT, ms))
  }

  /** Codes: `wrong_passphrase` for `current`, `weak_passphrase` for `next`. */
  async changePassphrase(current: string, next: string): Promise<void> {
    const header = await this.#storage.getHeader()
    const masterKey = await unwrapMasterKey(header, current, this.#derive)
    checkNewPassphrase(next)
    const changed = await wrapMasterKey(masterKey, header.vaultId, next, this.#derive)
    masterKey.fill(0)
    await this.#storage.replace(changed)
    this.#tabs.tell({ kind: 'changed' })
  }

  /** Deletes everything, for all agents, in all tabs. Cannot be undone. Works while locked. */
  async wipe(): Promise<void> {
    await this.#storage.wipe()
    this.#leave('none')
    this.#tabs.tell({ kind: 'wiped' })
  }

  /** Stores everything that this tab knows, after the browser has deleted it, or could not store it. */
  async storeAgain(): Promise<void> {
    askToPersist()
    const wasLost = await this.#storage.storeAgain()
    this.#tabs.tell({ kind: wasLost ? 'stored_again' : 'changed' })
    if (this.#open !== undefined) await this.#refresh()
  }

  /** Gives up what the browser has deleted. */
  async forget(): Promise<void> {
    this.#leave('none')
    await this.#showState()
  }

  /** Makes a key and stores it, before anything is registered with it. */
  async createAgent(): Promise<KeptAgent> {
    askToPersist()
    return this.#changing(() => this.#keyring.add(generateKey(), false))
  }

  /**
   * Stores the key of a key file of the CLI (`svc keygen`, `svc init`). A key that the vault has already is not an error.
   * Codes: `not_a_key_file`.
   */
  async importAgent(keyFileText: string): Promise<KeptAgent> {
    const key = readKey(keyFileText)
    askToPersist()
    return this.#changing(() => this.#keyring.add(key, true))
  }

  /**
   * The text of a key file for the CLI. Never show it: offer it as a file (vault/save-file.ts), and then call `noteKeySaved`.
   * Works too if the browser has deleted the vault. Codes: `wrong_passphrase`.
   */
  async exportAgent(agentId: string, passphrase: string): Promise<string> {
    const key = this.keyOf(agentId)
    const header = await this.#storage.getOpenHeader()
    const masterKey = await unwrapMasterKey(header, passphrase, this.#derive)
    masterKey.fill(0)
    this.#unlocked()
    return `${formatKey(key)}\n`
  }

  async noteKeySaved(agentId: string): Promise<void> {
    await this.#changing(() => this.#keyring.change(agentId, { isSaved: true }))
  }

  /** Remembers under which name the agent is registered. */
  async setAgentName(agentId: string, name: string): Promise<void> {
    await this.#changing(() => this.#keyring.change(agentId, { name }))
  }

  /** Deletes the key and all records of one agent in this browser. The agent itself stays registered. */
  async removeAgent(agentId: string): Promise<void> {
    await this.#changing(() => this.#keyring.remove(agentId))
  }

  /** For `new AgentClient({ key })`. Drop the client when `state` is no longer `unlocked`. Throws `locked`, `unknown_agent`. */
  keyOf(agentId: string): AgentKey {
    this.#unlocked()
    return this.#keyring.keyOf(agentId)
  }

  /** Throws `locked`, `unknown_agent`. */
  storeOf(agentId: string): AgentStore {
    this.keyOf(agentId)
    return createAgentStore(agentId, this.#unlocked)
  }

  async #showState(): Promise<void> {
    if (this.#open === undefined) this.#state.value = (await this.#storage.findVault()) ? 'locked' : 'none'
  }

  async #enter(masterKey: Uint8Array<ArrayBuffer>, header: VaultHeader): Promise<void> {
    const cipher = await createCipher(masterKey)
    masterKey.fill(0)
    this.#open = { cipher, records: await this.#storage.open(header) }
    try {
      await this.#refresh()
    } catch (error) {
      this.#leave('locked')
      throw error
    }
    this.#idle?.stop()
    this.#idle = startIdleClock({ limitMs: this.#idleLimitMs.value, onIdle: () => this.#leave('locked') })
    this.#state.value = 'unlocked'
  }

  #leave(next: VaultState): void {
    this.#idle?.stop()
    this.#idle = undefined
    this.#open = undefined
    this.#keyring.forget()
    this.#agents.value = []
    if (next === 'none') this.#storage.forget()
    else this.#storage.close()
    if (this.#state.value !== 'none' || next === 'none') this.#state.value = next
  }

  /** Reads what another tab may have changed. */
  async #refresh(): Promise<void> {
    await this.#keyring.load()
    await this.#storage.refresh()
    this.#idleLimitMs.value = (await this.#settings.get(IDLE_LIMIT)) ?? DEFAULT_IDLE_LIMIT_MS
    this.#idle?.setLimit(this.#idleLimitMs.value)
    this.#agents.value = this.#keyring.agents()
  }

  async #changing<T>(change: () => Promise<T>): Promise<T> {
    this.#unlocked()
    const result = await change()
    await this.#refresh()
    this.#tabs.tell({ kind: 'changed' })
    return result
  }

  #onMessage(message: TabMessage): void {
    const { kind } = message
    if (kind === 'activity') this.#idle?.note()
    else if (kind === 'lock') this.#leave('locked')
    else if (kind === 'wiped') this.#leave('none')
    else if (kind === 'created' && this.#open === undefined) this.#state.value = 'locked'
    else if (kind === 'deleted') this.#storage.forgetRecords(message.prefix)
    else if (kind === 'stored_again') this.#storage.join().catch(() => {})
    // If the vault is locked meanwhile, there is nothing to show.
    else if (kind === 'changed' && this.#open !== undefined) this.#refresh().catch(() => {})
  }
}

function readKey(text: string): AgentKey {
  try {
    return parseKey(text)
  } catch (cause) {
    throw new VaultError('not_a_key_file', cause instanceof Error ? cause.message : 'this is not a key file')
  }
}
