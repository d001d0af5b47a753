/**
 * Changes that the browser could not store. They wait in memory, and in the session storage of the tab, which outlives a reload.
 * Records are encrypted, so nothing readable leaves the vault.
 */
import type { Change } from './database.ts'

type SessionStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

interface Kept {
  readonly vaultId: string
  readonly changes: readonly { readonly place: string; readonly iv?: string; readonly data?: string }[]
}

const KEY = 'unwritten'

export class Unwritten {
  readonly #vaultId: string
  readonly #storage: SessionStorage
  /** By place, in the order in which they were made. */
  readonly #changes = new Map<string, Change>()
  #outlivesReload = true

  /** Takes over what the tab kept before a reload, if it is of this vault. */
  constructor(vaultId: string, storage: SessionStorage) {
    this.#vaultId = vaultId
    this.#storage = storage
    for (const change of readKept(vaultId, storage)) this.#changes.set(change.place, change)
    if (this.#changes.size === 0) storage.removeItem(KEY)
  }

  static discard(storage: SessionStorage): void {
    storage.removeItem(KEY)
  }

  get all(): readonly Change[] {
    return [...this.#changes.values()]
  }

  /** False if the session storage has no room either. */
  get outlivesReload(): boolean {
    return this.#outlivesReload
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.record === undefined) this.#drop(change.place)
      this.#changes.delete(change.place)
      this.#changes.set(change.place, change)
    }
    this.#keep()
  }

  /** The changes were stored. Later ones at the same places wait on. */
  settle(stored: readonly Change[]): void {
    if (this.#changes.size === 0) return
    for (const change of stored) if (this.#changes.get(change.place) === change) this.#changes.delete(change.place)
    this.#keep()
  }

  /** Newer changes were stored at these places. */
  supersede(stored: readonly Change[]): void {
    if (this.#changes.size === 0) return
    for (const { place, record } of stored) {
      if (record === undefined) this.#drop(place)
      else this.#changes.delete(place)
    }
    this.#keep()
  }

  #drop(prefix: string): void {
    for (const place of [...this.#changes.keys()]) if (place.startsWith(prefix)) this.#changes.delete(place)
  }

  #keep(): void {
    const changes = this.all.filter(({ isReplaceable }) => isReplaceable !== true)
    this.#outlivesReload = true
    if (changes.length === 0) {
      this.#storage.removeItem(KEY)
      return
    }
    try {
      this.#storage.setItem(
        KEY,
        JSON.stringify({ vaultId: this.#vaultId, changes: changes.map(encode) } satisfies Kept),
      )
    } catch {
      this.#outlivesReload = false
    }
  }
}

function readKept(vaultId: string, storage: SessionStorage): Change[] {
  try {
    const kept = JSON.parse(storage.getItem(KEY) ?? 'null') as Kept | null
    return kept?.vaultId === vaultId ? kept.changes.map(decode) : []
  } catch {
    return [] // somebody else wrote it
  }
}

function encode({ place, record }: Change): Kept['changes'][number] {
  return record === undefined ? { place } : { place, iv: toText(record.iv), data: toText(record.data) }
}

function decode({ place, iv, data }: Kept['changes'][number]): Change {
  return iv === undefined || data === undefined
    ? { place }
    : { place, record: { iv: toBytes(iv), data: toBytes(data) } }
}

function toText(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}
