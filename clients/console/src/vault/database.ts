/** The IndexedDB database of the vault: one header, and encrypted records by their place. */
import type { SealedRecord } from './cipher.ts'
import { answerOf, createConnection, type Stores } from './connection.ts'
import type { VaultHeader } from './header.ts'
import { VaultError } from './vault-error.ts'

/**
 * Calls that name a vault throw VaultError `locked` if a person has wiped it, `cleared` if the browser has deleted it, and
 * `replaced` if there is another one. All throw `newer_console`, `storage_full` and `storage_failed`.
 */
export interface VaultDatabase {
  readHeader(): Promise<VaultHeader | undefined>
  /** @throws VaultError `exists` if there is a header already. */
  addHeader(header: VaultHeader): Promise<void>
  replaceHeader(header: VaultHeader): Promise<void>
  read(vaultId: string, place: string): Promise<SealedRecord | undefined>
  /** All records whose place begins with `prefix`. */
  list(vaultId: string, prefix: string): Promise<PlacedRecord[]>
  /** All in one transaction. */
  write(vaultId: string, changes: readonly Change[]): Promise<void>
  /** Writes a vault that the browser has deleted. Records that are there stay. */
  restore(header: VaultHeader, records: readonly PlacedRecord[]): Promise<void>
  /** Whether the browser has deleted a vault that was there. */
  isCleared(vaultId: string): Promise<boolean>
  /** Deletes everything. Only the random id of the vault is kept, so that no tab restores it. */
  clear(vaultId: string | undefined): Promise<void>
}

export interface PlacedRecord {
  readonly place: string
  readonly record: SealedRecord
}

/** Stores the record at its place. Without a record, deletes every record whose place begins with `place`. */
export interface Change {
  readonly place: string
  readonly record?: SealedRecord
  /** Whether the service has the content too, so that the record need not outlive a reload if it cannot be stored. */
  readonly isReplaceable?: boolean
}

/** Keys of the store of the header. */
const HEADER = 'header'
const WIPED = 'wiped'
const MAX_WIPED = 100
const AFTER_ANY_PLACE = '\uffff'

/** @param onLost called when the browser or another tab has closed the database. The next call opens it again. */
export function createDatabase(onLost: () => void): VaultDatabase {
  const connection = createConnection(onLost)
  const change = (work: (stores: Stores) => Promise<void>): Promise<void> => connection.run('readwrite', work)
  return {
    readHeader: () => connection.run('readonly', readHeader),
    addHeader: (header) =>
      change(async (stores) => {
        if ((await readHeader(stores)) !== undefined) throw new VaultError('exists', 'another tab has made a vault')
        stores.header.put(header, HEADER)
      }),
    replaceHeader: (header) =>
      change(async (stores) => {
        await checkVault(stores, header.vaultId)
        stores.header.put(header, HEADER)
      }),
    read: (vaultId, place) =>
      connection.run('readonly', async (stores) => {
        await checkVault(stores, vaultId)
        return answerOf<SealedRecord | undefined>(stores.records.get(place))
      }),
    list: (vaultId, prefix) =>
      connection.run('readonly', async (stores) => {
        await checkVault(stores, vaultId)
        const [places, records] = await Promise.all([
          answerOf(stores.records.getAllKeys(rangeOf(prefix))),
          answerOf<SealedRecord[]>(stores.records.getAll(rangeOf(prefix))),
        ])
        return records.map((record, index) => ({ place: String(places[index]), record }))
      }),
    write: (vaultId, changes) =>
      change(async (stores) => {
        await checkVault(stores, vaultId)
        for (const { place, record } of changes) {
          if (record === undefined) stores.records.delete(rangeOf(place))
          else stores.records.put(record, place)
        }
      }),
    restore: (header, records) =>
      change(async (stores) => {
        if ((await absenceOf(stores, header.vaultId)) === 'cleared') stores.header.put(header, HEADER)
        else await checkVault(stores, header.vaultId)
        const present = new Set(await answerOf(stores.records.getAllKeys()))
        for (const { place, record } of records) if (!present.has(place)) stores.records.put(record, place)
      }),
    isCleared: (vaultId) =>
      connection.run('readonly', async (stores) => (await absenceOf(stores, vaultId)) === 'cleared'),
    clear: (vaultId) =>
      change(async (stores) => {
        const header = await readHeader(stores)
        const wiped = new Set(await readWiped(stores))
        for (const id of [vaultId, header?.vaultId]) if (id !== undefined) wiped.add(id)
        stores.header.clear()
        stores.records.clear()
        stores.header.put([...wiped].slice(-MAX_WIPED), WIPED)
      }),
  }
}

type Absence = 'wiped' | 'cleared' | 'replaced'

/** Why a vault is not in the database. Undefined if it is there. */
export function whyAbsent(vaultId: string, present: string | undefined, wiped: readonly string[]): Absence | undefined {
  if (present === vaultId) return undefined
  if (wiped.includes(vaultId)) return 'wiped'
  return present === undefined ? 'cleared' : 'replaced'
}

async function absenceOf(stores: Stores, vaultId: string): Promise<Absence | undefined> {
  const [header, wiped] = await Promise.all([readHeader(stores), readWiped(stores)])
  return whyAbsent(vaultId, header?.vaultId, wiped)
}

async function checkVault(stores: Stores, vaultId: string): Promise<void> {
  const absence = await absenceOf(stores, vaultId)
  if (absence === 'wiped') throw new VaultError('locked', 'the vault was wiped meanwhile')
  if (absence === 'cleared') throw new VaultError('cleared', 'the browser has deleted the vault')
  if (absence === 'replaced') throw new VaultError('replaced', 'the vault was deleted, and another one was made')
}

function readHeader({ header }: Stores): Promise<VaultHeader | undefined> {
  return answerOf<VaultHeader | undefined>(header.get(HEADER))
}

async function readWiped({ header }: Stores): Promise<readonly string[]> {
  return (await answerOf<readonly string[] | undefined>(header.get(WIPED))) ?? []
}

function rangeOf(prefix: string): IDBKeyRange {
  return IDBKeyRange.bound(prefix, prefix + AFTER_ANY_PLACE)
}
