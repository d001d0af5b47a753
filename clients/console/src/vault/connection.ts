/** A connection to the IndexedDB database that is opened again after the browser has closed it. */
import { VaultError, type VaultErrorCode } from './vault-error.ts'

export interface Stores {
  readonly header: IDBObjectStore
  readonly records: IDBObjectStore
}

interface Connection {
  /** Runs the work in one transaction. If the browser closed the connection meanwhile, runs it again in a new one. */
  run<T>(mode: IDBTransactionMode, work: (stores: Stores) => Promise<T>): Promise<T>
}

const NAME = 'svc-console'
const VERSION = 1
const HEADER = 'header'
const RECORDS = 'records'
const MAX_TRIES = 5

/** Reasons that a person can do something about. */
const CODES: Readonly<Record<string, VaultErrorCode>> = {
  VersionError: 'newer_console',
  QuotaExceededError: 'storage_full',
}

/** @param onLost called when the browser or another tab has closed the database. */
export function createConnection(onLost: () => void): Connection {
  let opening: Promise<IDBDatabase> | undefined
  const forget = (lost: Promise<IDBDatabase>): void => {
    if (opening === lost) opening = undefined
  }
  const connect = (): Promise<IDBDatabase> => {
    if (opening !== undefined) return opening
    const current = open(() => {
      forget(current)
      onLost()
    })
    opening = current
    current.catch(() => forget(current))
    return current
  }
  return {
    async run(mode, work) {
      const used = connect()
      const database = await used
      try {
        return await inTransaction(database, mode, work)
      } catch (error) {
        if (isClosed(error)) forget(used)
        if (opening === used) throw error
        return inTransaction(await connect(), mode, work)
      }
    },
  }
}

async function open(onLost: () => void): Promise<IDBDatabase> {
  const database = await openPatiently()
  database.onclose = onLost
  // A newer console in another tab changes the form of the database. It must not wait for this one.
  database.onversionchange = () => {
    database.close()
    onLost()
  }
  return database
}

/** A browser that is deleting the database aborts the first tries to open it. */
async function openPatiently(): Promise<IDBDatabase> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openOnce()
    } catch (error) {
      if (!isAborted(error) || tries === MAX_TRIES) throw error
    }
  }
}

function openOnce(): Promise<IDBDatabase> {
  const opening = indexedDB.open(NAME, VERSION)
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(HEADER)
    opening.result.createObjectStore(RECORDS)
  }
  return answerOf(opening)
}

async function inTransaction<T>(
  database: IDBDatabase,
  mode: IDBTransactionMode,
  work: (stores: Stores) => Promise<T>,
): Promise<T> {
  const transaction = database.transaction([HEADER, RECORDS], mode)
  const done = new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(failed(transaction.error))
  })
  done.catch(() => {}) // awaited below, unless the work fails first
  let result: T
  try {
    result = await work({ header: transaction.objectStore(HEADER), records: transaction.objectStore(RECORDS) })
  } catch (error) {
    abort(transaction)
    throw error
  }
  await done
  return result
}

/** A transaction that the browser has ended already cannot be aborted. */
function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort()
  } catch {}
}

function isAborted(error: unknown): boolean {
  return error instanceof VaultError && error.cause instanceof DOMException && error.cause.name === 'AbortError'
}

function isClosed(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'InvalidStateError'
}

export function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(failed(request.error))
  })
}

function failed(cause: DOMException | null): VaultError {
  const code = CODES[cause?.name ?? ''] ?? 'storage_failed'
  return new VaultError(code, `the browser's storage failed: ${cause?.name ?? 'unknown'}`, { cause })
}
