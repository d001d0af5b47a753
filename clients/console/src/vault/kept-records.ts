/**
 * The encrypted records of one vault: in the database, and, as far as this tab has seen them, in memory. If the browser deletes
 * the database, they are read from memory until a person has them stored again.
 */
import type { SealedRecord } from './cipher.ts'
import type { Change, PlacedRecord, VaultDatabase } from './database.ts'
import type { VaultHeader } from './header.ts'
import type { Unwritten } from './unwritten.ts'
import { VaultError, type VaultErrorCode } from './vault-error.ts'

/**
 * - `newer`: a newer console in another tab has taken over the database. Only a reload helps.
 * - `cleared`: the browser has deleted what this page kept.
 * - `replaced`: it has, and another vault was made since.
 * - `gone`: it has, and nothing is left in this tab.
 * - `full`: there is no room.
 * - `failed`: something could not be stored.
 */
type TroubleKind = 'newer' | 'cleared' | 'replaced' | 'gone' | 'full' | 'failed'

export interface StorageTrouble {
  readonly kind: TroubleKind
  /** Whether a reload loses nothing that was typed. */
  readonly outlivesReload: boolean
}

interface Parts {
  readonly vaultId: string
  readonly database: VaultDatabase
  readonly unwritten: Unwritten
  readonly onTrouble: (trouble: StorageTrouble | undefined) => void
  /** A person has wiped the vault in another tab. */
  readonly onWiped: () => void
  /** Records were deleted: no other tab may store them again. */
  readonly onDeleted: (prefix: string) => void
}

const KINDS: Partial<Record<VaultErrorCode, TroubleKind>> = {
  newer_console: 'newer',
  cleared: 'cleared',
  replaced: 'replaced',
  storage_full: 'full',
  storage_failed: 'failed',
}

export class KeptRecords {
  readonly vaultId: string
  readonly #parts: Parts
  readonly #seen = new Map<string, SealedRecord>()
  #lost: 'cleared' | 'replaced' | undefined

  constructor(parts: Parts) {
    this.vaultId = parts.vaultId
    this.#parts = parts
  }

  /** Whether only this tab has the records. */
  get isLost(): boolean {
    return this.#lost !== undefined
  }

  async read(place: string): Promise<SealedRecord | undefined> {
    if (!this.isLost) {
      const record = await this.#asking(() => this.#parts.database.read(this.vaultId, place))
      if (record !== undefined) this.#seen.set(place, record)
      if (!this.isLost) return record
    }
    return this.#seen.get(place)
  }

  async list(prefix: string): Promise<PlacedRecord[]> {
    if (!this.isLost) {
      const found = await this.#asking(() => this.#parts.database.list(this.vaultId, prefix))
      for (const { place, record } of found ?? []) this.#seen.set(place, record)
      if (!this.isLost) return found ?? []
    }
    return [...this.#seen].filter(([place]) => place.startsWith(prefix)).map(([place, record]) => ({ place, record }))
  }

  /** Stores earlier unstored changes first, to keep the order. A deletion does not wait for them, because it makes room. */
  async write(changes: readonly Change[]): Promise<void> {
    const { database, unwritten, onDeleted } = this.#parts
    for (const { place, record } of changes) {
      if (record !== undefined) this.#seen.set(place, record)
      else {
        this.forget(place)
        onDeleted(place)
      }
    }
    const waiting = changes.every(({ record }) => record === undefined) ? [] : unwritten.all
    try {
      await database.write(this.vaultId, [...waiting, ...changes])
    } catch (error) {
      this.#fail(error, changes)
      throw error
    }
    unwritten.settle(waiting)
    unwritten.supersede(changes)
    if (!this.isLost && unwritten.all.length === 0) this.#parts.onTrouble(undefined)
  }

  /** Tries again to store what could not be stored. */
  async writeWaiting(): Promise<void> {
    const { unwritten } = this.#parts
    if (unwritten.all.length > 0) await this.write(unwritten.all)
  }

  /** Finds out whether the browser has deleted the records. */
  async check(): Promise<void> {
    await this.#asking(() => this.#parts.database.list(this.vaultId, '-'))
  }

  /** Stores everything that this tab has seen, after the browser has deleted it. */
  async storeAgain(header: VaultHeader): Promise<void> {
    const { database, unwritten, onTrouble } = this.#parts
    try {
      await database.restore(
        header,
        [...this.#seen].map(([place, record]) => ({ place, record })),
      )
    } catch (error) {
      this.#fail(error, [])
      throw error
    }
    this.#lost = undefined
    if (unwritten.all.length === 0) onTrouble(undefined)
    await this.writeWaiting()
  }

  /** Another tab has deleted these records. */
  forget(prefix: string): void {
    for (const place of [...this.#seen.keys()]) if (place.startsWith(prefix)) this.#seen.delete(place)
  }

  /** @returns undefined if the records are lost. */
  async #asking<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask()
    } catch (error) {
      const code = error instanceof VaultError ? error.code : undefined
      if (code !== 'storage_failed') this.#fail(error, [])
      if (this.isLost) return undefined
      throw error
    }
  }

  #fail(error: unknown, changes: readonly Change[]): void {
    if (!(error instanceof VaultError)) return
    const { unwritten, onTrouble, onWiped } = this.#parts
    const kind = KINDS[error.code]
    if (kind === undefined) {
      onWiped()
      return
    }
    if (kind === 'cleared' || kind === 'replaced') this.#lost = kind
    else unwritten.add(changes)
    onTrouble({ kind, outlivesReload: !this.isLost && unwritten.outlivesReload })
  }
}
