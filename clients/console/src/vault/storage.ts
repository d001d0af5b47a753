/** What this tab stores of the vault, what of it the browser does not store, and why. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { createDatabase } from './database.ts'
import type { VaultHeader } from './header.ts'
import { KeptRecords, type StorageTrouble } from './kept-records.ts'
import { Unwritten } from './unwritten.ts'
import { VaultError } from './vault-error.ts'

interface StorageOptions {
  /** There is no vault any more: a person has wiped it in another tab, or the browser has deleted it. */
  readonly onNone: () => void
  /** Records were deleted: no other tab may store them again. */
  readonly onDeleted: (prefix: string) => void
}

export class VaultStorage {
  readonly #options: StorageOptions
  readonly #database = createDatabase(() => void this.#records?.check().catch(() => {}))
  readonly #trouble = signal<StorageTrouble | undefined>(undefined)
  /** As it was last read. Nothing else opens the records that are in memory, so it is kept if the browser deletes it. */
  #header: VaultHeader | undefined
  #records: KeptRecords | undefined
  readonly trouble: ReadonlySignal<StorageTrouble | undefined> = this.#trouble

  constructor(options: StorageOptions) {
    this.#options = options
  }

  /** Reads again whether there is a vault. */
  async findVault(): Promise<boolean> {
    try {
      this.#header = await this.#database.readHeader()
    } catch (error) {
      if (error instanceof VaultError && error.code === 'newer_console')
        this.#trouble.value = { kind: 'newer', outlivesReload: true }
      throw error
    }
    return this.#header !== undefined
  }

  /** @throws VaultError `exists`. */
  async add(header: VaultHeader): Promise<void> {
    await this.#database.addHeader(header)
    this.#header = header
  }

  async replace(header: VaultHeader): Promise<void> {
    await this.#database.replaceHeader(header)
    this.#header = header
  }

  /** Another tab may have changed the passphrase. */
  async refresh(): Promise<void> {
    const header = await this.#database.readHeader()
    if (header?.vaultId === this.#header?.vaultId) this.#header = header
  }

  /**
   * The stored header, or the one of records that only this tab still has.
   * @throws VaultError `cleared`, `locked` if there is no vault any more.
   */
  async getHeader(): Promise<VaultHeader> {
    const stored = await this.#database.readHeader()
    const known = this.#header
    if (known !== undefined && stored?.vaultId !== known.vaultId) {
      await this.#records?.check()
      if (this.#records?.isLost === true) return known
    }
    if (stored !== undefined) return stored
    const isCleared = known !== undefined && (await this.#database.isCleared(known.vaultId))
    this.#options.onNone()
    if (!isCleared) throw new VaultError('locked', 'there is no vault: another tab has wiped it')
    this.#trouble.value = { kind: 'gone', outlivesReload: true }
    throw new VaultError('cleared', 'the browser has deleted the vault')
  }

  /** The header of the records that are open, even if it is not stored. */
  async getOpenHeader(): Promise<VaultHeader> {
    return this.#records !== undefined && this.#header !== undefined ? this.#header : this.getHeader()
  }

  /** Opens the records, and stores what a reload has left to be stored. */
  async open(header: VaultHeader): Promise<KeptRecords> {
    if (this.#records?.vaultId !== header.vaultId) {
      this.#trouble.value = undefined
      this.#records = this.#recordsOf(header.vaultId)
    }
    this.#header = header
    // If it cannot be stored, `trouble` says so.
    await this.#records.writeWaiting().catch(() => {})
    return this.#records
  }

  /** For a lock. What is not stored stays in memory, encrypted. */
  close(): void {
    const { kind } = this.#trouble.value ?? {}
    if (kind !== undefined && kind !== 'replaced') return
    this.#records = undefined
    this.#trouble.value = undefined
  }

  /** Forgets everything that is not stored. */
  forget(): void {
    this.#records = undefined
    this.#header = undefined
    this.#trouble.value = undefined
    Unwritten.discard(sessionStorage)
  }

  /** @returns whether the browser had deleted it. */
  async storeAgain(): Promise<boolean> {
    const [records, header] = [this.#records, this.#header]
    if (records === undefined || header === undefined) throw new VaultError('locked', 'the vault is locked')
    const wasLost = records.isLost
    if (wasLost) await records.storeAgain(header)
    else await records.writeWaiting()
    return wasLost
  }

  /** Another tab has stored again what the browser had deleted. */
  async join(): Promise<void> {
    if (this.#records?.isLost === true) await this.storeAgain()
  }

  /** Another tab has deleted these records. */
  forgetRecords(prefix: string): void {
    this.#records?.forget(prefix)
  }

  async wipe(): Promise<void> {
    await this.#database.clear(this.#header?.vaultId)
  }

  #recordsOf(vaultId: string): KeptRecords {
    const { onNone, onDeleted } = this.#options
    return new KeptRecords({
      vaultId,
      database: this.#database,
      unwritten: new Unwritten(vaultId, sessionStorage),
      onTrouble: (trouble) => {
        this.#trouble.value = trouble
      },
      onWiped: onNone,
      onDeleted,
    })
  }
}
