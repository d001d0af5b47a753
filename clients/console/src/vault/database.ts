/** The IndexedDB database of the vault: one header, and encrypted records by their place. */
import type { SealedRecord } from './cipher.ts'
import type { VaultHeader } from './header.ts'
import { VaultError } from './vault-error.ts'

export interface VaultDatabase {
  readHeader(): Promise<VaultHeader | undefined>
  /** @throws VaultError `exists` if there is a header already. */
  addHeader(header: VaultHeader): Promise<void>
  /** @throws VaultError `locked` if the vault was wiped meanwhile. */
  replaceHeader(header: VaultHeader): Promise<void>
  read(place: string): Promise<SealedRecord | undefined>
  /** All records whose place begins with `prefix`. */
  list(prefix: string): Promise<{ place: string; record: SealedRecord }[]>
  /** All in one transaction. @throws VaultError `locked` if the vault was wiped meanwhile. */
  write(vaultId: string, changes: readonly Change[]): Promise<void>
  /** Deletes everything. */
  clear(): Promise<void>
}

/** Stores the record at its place. Without a record, deletes every record whose place begins with `place`. */
export interface Change {
  readonly place: string
  readonly record?: SealedRecord
}

const NAME = 'svc-console'
const VERSION = 1
const HEADER = 'header'
const RECORDS = 'records'
const AFTER_ANY_PLACE = '\uffff'

/** @throws VaultError `storage_failed`, for example in a private window that has no storage. */
export async function openDatabase(): Promise<VaultDatabase> {
  const opening = indexedDB.open(NAME, VERSION)
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(HEADER)
    opening.result.createObjectStore(RECORDS)
  }
  const database = await answerOf(opening)
  // A newer console in another tab changes the form of the database. It must not wait for this one.
  database.onversionchange = () => database.close()

  return {
    readHeader: () => answerOf<VaultHeader | undefined>(reading(HEADER).get(HEADER)),
    addHeader: (header) =>
      inTransaction(async (stores) => {
        if ((await answerOf(stores.header.get(HEADER))) !== undefined)
          throw new VaultError('exists', 'another tab has made a vault')
        stores.header.put(header, HEADER)
      }),
    replaceHeader: (header) =>
      inTransaction(async (stores) => {
        await checkVault(stores.header, header.vaultId)
        stores.header.put(header, HEADER)
      }),
    read: (place) => answerOf<SealedRecord | undefined>(reading(RECORDS).get(place)),
    async list(prefix) {
      const store = reading(RECORDS)
      const [places, records] = await Promise.all([
        answerOf(store.getAllKeys(rangeOf(prefix))),
        answerOf<SealedRecord[]>(store.getAll(rangeOf(prefix))),
      ])
      return records.map((record, index) => ({ place: String(places[index]), record }))
    },
    write: (vaultId, changes) =>
      inTransaction(async (stores) => {
        await checkVault(stores.header, vaultId)
        for (const { place, record } of changes) {
          if (record === undefined) stores.records.delete(rangeOf(place))
          else stores.records.put(record, place)
        }
      }),
    clear: () =>
      inTransaction(async (stores) => {
        stores.header.clear()
        stores.records.clear()
      }),
  }

  function reading(store: string): IDBObjectStore {
    return database.transaction(store).objectStore(store)
  }

  async function inTransaction(
    work: (stores: { header: IDBObjectStore; records: IDBObjectStore }) => Promise<void>,
  ): Promise<void> {
    const transaction = database.transaction([HEADER, RECORDS], 'readwrite')
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(failed(transaction.error))
    })
    done.catch(() => {}) // awaited below, unless the work fails first
    try {
      await work({ header: transaction.objectStore(HEADER), records: transaction.objectStore(RECORDS) })
    } catch (error) {
      transaction.abort()
      throw error
    }
    await done
  }
}

async function checkVault(store: IDBObjectStore, vaultId: string): Promise<void> {
  const header = await answerOf<VaultHeader | undefined>(store.get(HEADER))
  if (header?.vaultId !== vaultId) throw new VaultError('locked', 'the vault was wiped meanwhile')
}

function rangeOf(prefix: string): IDBKeyRange {
  return IDBKeyRange.bound(prefix, prefix + AFTER_ANY_PLACE)
}

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(failed(request.error))
  })
}

function failed(cause: DOMException | null): VaultError {
  return new VaultError('storage_failed', `the browser's storage failed: ${cause?.name ?? 'unknown'}`, { cause })
}
