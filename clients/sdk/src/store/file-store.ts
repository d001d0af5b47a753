/** A store in a folder, for Node. Not part of the main entry, so that a browser page does not load Node's modules. */
import { type Dirent, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../errors.ts'
import { writeDurablyLater } from './durable-file.ts'
import { lockFolder } from './folder-lock.ts'
import type { Store } from './store.ts'
import { codeOf, reasonOf } from './system-error.ts'

/** A store whose folder is locked until the store is disposed or the process ends, however it ends. */
export interface FileStore extends Store, Disposable {
  readonly folder: string
}

export interface FileStoreOptions {
  /**
   * Several processes use the folder at the same time, so it is not locked, and the last value of a key wins. Good for pins of
   * keys. `process` needs a folder of its own.
   */
  readonly shared?: boolean
}

const KEY = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/
const MAX_KEY_LENGTH = 200
/** Written by `lockFolder`, and left by an interrupted write. */
const LOCK = 'locked'
const UNFINISHED = '.new'

/**
 * Keeps each value in a file of its own, which only the owner of the process can read. A value is on the disk when `set`
 * resolves, and is replaced as a whole, even if the process is killed at any moment. One process at a time uses a folder, unless it is `shared`.
 * @throws StoreError if another process uses the folder, or the folder is not writable.
 */
export function createFileStore(folder: string, { shared = false }: FileStoreOptions = {}): FileStore {
  const lock = shared ? undefined : lockFolder(folder)
  // In a shared folder, another process may be writing them.
  for (const { name, parentPath } of shared ? [] : entriesOf(folder))
    if (name.endsWith(UNFINISHED)) rmSync(join(parentPath, name), { force: true })
  const pathOf = (key: string): string => join(folder, fileOf(key))
  return {
    folder,
    async get(key) {
      try {
        return readFileSync(pathOf(key), 'utf8')
      } catch (cause) {
        if (isMissing(cause)) return undefined
        throw new StoreError(`${pathOf(key)} cannot be read: ${reasonOf(cause)}`, { cause })
      }
    },
    set: async (key, value) => writeDurablyLater(pathOf(key), value),
    async delete(key) {
      rmSync(pathOf(key), { force: true })
    },
    async keys(prefix) {
      return list(folder).filter((key) => key.startsWith(prefix))
    },
    [Symbol.dispose]: () => lock?.[Symbol.dispose](),
  }
}

/** Capital letters are written as `+a`, because some file systems do not tell them from small ones. */
function fileOf(key: string): string {
  const isValid = KEY.test(key) && key.length <= MAX_KEY_LENGTH && !key.endsWith(UNFINISHED)
  if (!isValid || key.split('/', 1)[0]?.startsWith(LOCK)) throw new TypeError(`${key} cannot be a key of a store`)
  return key.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`)
}

function list(folder: string): string[] {
  const keys: string[] = []
  for (const entry of entriesOf(folder)) {
    if (!entry.isFile() || entry.name.endsWith(UNFINISHED)) continue
    const path = join(entry.parentPath, entry.name).slice(join(folder, '/').length)
    const key = path.replaceAll('\\', '/').replace(/\+([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (KEY.test(key) && !key.startsWith(LOCK)) keys.push(key)
  }
  return keys
}

/** A shared folder is created by its first value. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true, encoding: 'utf8' })
  } catch (cause) {
    if (isMissing(cause)) return []
    throw new StoreError(`${folder} cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
}
