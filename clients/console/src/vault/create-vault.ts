import { signal } from '@preact/signals'
import { formatKey, generateKey, parseKey } from '@svc/sdk'
import { createAgentStore, createRecords, type OpenVault } from './agent-store.ts'
import { createCipher } from './cipher.ts'
import { openDatabase, type VaultDatabase } from './database.ts'
import { checkNewPassphrase, type DeriveKey, newMasterKey, unwrapMasterKey, wrapMasterKey } from './header.ts'
import { type IdleClock, startIdleClock } from './idle.ts'
import { createKeyring } from './keyring.ts'
import { joinTabs, type TabMessage } from './tabs.ts'
import type { KeptAgent, Vault, VaultState } from './vault.ts'
import { VaultError } from './vault-error.ts'

const DEFAULT_IDLE_LIMIT_MS = 15 * 60_000
/** Other tabs hear of activity this often. */
const TELL_MS = 1_000
const IDLE_LIMIT = 'idle_limit_ms'

/** @param derive the slow key derivation, in a worker (work/work.ts). */
export function createVault(derive: DeriveKey): Vault {
  const state = signal<VaultState>('opening')
  const agents = signal<readonly KeptAgent[]>([])
  const idleLimitMs = signal(DEFAULT_IDLE_LIMIT_MS)
  let open: OpenVault | undefined
  let idle: IdleClock | undefined
  let toldMs = 0

  const unlocked = (): OpenVault => {
    if (open === undefined) throw new VaultError('locked', 'the vault is locked')
    return open
  }
  const keyring = createKeyring(unlocked)
  const settings = createRecords<number>(['settings'], unlocked)
  const tabs = joinTabs(onMessage)
  const database = openDatabase()
  database.then(showState).catch(() => {
    state.value = 'failed'
  })

  return {
    state,
    agents,
    idleLimitMs,
    async create(passphrase) {
      checkNewPassphrase(passphrase)
      const masterKey = newMasterKey()
      const header = await wrapMasterKey(masterKey, crypto.randomUUID(), passphrase, derive)
      await (await database).addHeader(header).catch(async (error: unknown) => {
        await showState(await database)
        throw error
      })
      await enter(masterKey, header.vaultId)
      tabs.tell({ kind: 'created' })
    },
    async unlock(passphrase) {
      const header = await getHeader()
      await enter(await unwrapMasterKey(header, passphrase, derive), header.vaultId)
    },
    lock() {
      leave('locked')
      tabs.tell({ kind: 'lock' })
    },
    noteActivity() {
      if (idle === undefined) return
      idle.note()
      if (Date.now() - toldMs < TELL_MS) return
      toldMs = Date.now()
      tabs.tell({ kind: 'activity' })
    },
    setIdleLimit: (ms) => changing(() => settings.put(IDLE_LIMIT, ms)),
    async changePassphrase(current, next) {
      const header = await getHeader()
      const masterKey = await unwrapMasterKey(header, current, derive)
      checkNewPassphrase(next)
      await (await database).replaceHeader(await wrapMasterKey(masterKey, header.vaultId, next, derive))
      masterKey.fill(0)
    },
    async wipe() {
      await (await database).clear()
      leave('none')
      tabs.tell({ kind: 'wiped' })
    },
    createAgent: () => changing(() => keyring.add(generateKey())),
    importAgent: (text) => changing(() => keyring.add(readKey(text))),
    exportAgent(agentId) {
      unlocked()
      return `${formatKey(keyring.keyOf(agentId))}\n`
    },
    setAgentName: (agentId, name) => changing(() => keyring.setName(agentId, name)),
    removeAgent: (agentId) => changing(() => keyring.remove(agentId)),
    keyOf(agentId) {
      unlocked()
      return keyring.keyOf(agentId)
    },
    storeOf(agentId) {
      unlocked()
      keyring.keyOf(agentId)
      return createAgentStore(agentId, unlocked)
    },
  }

  async function showState(opened: VaultDatabase): Promise<void> {
    if (open === undefined) state.value = (await opened.readHeader()) === undefined ? 'none' : 'locked'
  }

  async function getHeader() {
    const header = await (await database).readHeader()
    if (header === undefined) throw new VaultError('locked', 'there is no vault: another tab has wiped it')
    return header
  }

  async function enter(masterKey: Uint8Array<ArrayBuffer>, vaultId: string): Promise<void> {
    const cipher = await createCipher(masterKey)
    masterKey.fill(0)
    open = { vaultId, cipher, database: await database }
    try {
      await refresh()
    } catch (error) {
      leave('locked')
      throw error
    }
    idle?.stop()
    idle = startIdleClock({ limitMs: idleLimitMs.value, onIdle: () => leave('locked') })
    state.value = 'unlocked'
  }

  function leave(next: VaultState): void {
    idle?.stop()
    idle = undefined
    open = undefined
    keyring.forget()
    agents.value = []
    if (state.value !== 'none' || next === 'none') state.value = next
  }

  /** Reads what another tab may have changed. */
  async function refresh(): Promise<void> {
    await keyring.load()
    idleLimitMs.value = (await settings.get(IDLE_LIMIT)) ?? DEFAULT_IDLE_LIMIT_MS
    idle?.setLimit(idleLimitMs.value)
    agents.value = keyring.agents()
  }

  async function changing<T>(change: () => Promise<T>): Promise<T> {
    unlocked()
    const result = await change()
    await refresh()
    tabs.tell({ kind: 'changed' })
    return result
  }

  function onMessage({ kind }: TabMessage): void {
    if (kind === 'activity') idle?.note()
    else if (kind === 'lock') leave('locked')
    else if (kind === 'wiped') leave('none')
    else if (kind === 'created' && open === undefined) state.value = 'locked'
    // If the vault is locked meanwhile, there is nothing to show.
    else if (kind === 'changed' && open !== undefined) refresh().catch(() => {})
  }
}

function readKey(text: string) {
  try {
    return parseKey(text)
  } catch (cause) {
    throw new VaultError('not_a_key_file', cause instanceof Error ? cause.message : 'this is not a key file')
  }
}
