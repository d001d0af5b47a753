import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { StoreError } from '../errors.ts'
import { codeOf, reasonOf } from './system-error.ts'

const OWNER_ALONE = 0o600
const FOLDER_OF_OWNER = 0o700

interface WriteOptions {
  /** False if a power failure would lose nothing of value. */
  readonly isFlushed?: boolean
}

/**
 * Writes a file atomically, even if the process is killed or the machine loses power: a reader sees the old content or the
 * new one. The file is on the disk when this returns. Several writes of one path are safe, also by several processes: the
 * last one stays.
 * @throws StoreError if the file cannot be written, e.g. because the disk is full.
 */
export function writeDurably(
  path: string,
  content: string | Uint8Array,
  { isFlushed = true }: WriteOptions = {},
): void {
  const unfinished = unfinishedOf(path)
  try {
    makeFolder(dirname(path))
    writeFileSync(unfinished, content, { mode: OWNER_ALONE, flush: isFlushed })
    renameSync(unfinished, path)
    if (isFlushed) syncFolder(dirname(path))
  } catch (cause) {
    rmSync(unfinished, { force: true })
    throw new StoreError(`${path} cannot be written: ${reasonOf(cause)}`, { cause })
  }
}

/** Like `writeDurably`, without blocking the process. */
export async function writeDurablyLater(path: string, text: string): Promise<void> {
  const unfinished = unfinishedOf(path)
  try {
    makeFolder(dirname(path))
    await writeFile(unfinished, text, { mode: OWNER_ALONE, flush: true })
    await rename(unfinished, path)
    await syncFolderLater(dirname(path))
  } catch (cause) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw new StoreError(`${path} cannot be written: ${reasonOf(cause)}`, { cause })
  }
}

let writes = 0

/** A name that no other write of this or another process uses. */
function unfinishedOf(path: string): string {
  writes += 1
  return `${path}.${process.pid}.${writes}.new`
}

/** Creates a folder and those above it, all on the disk. */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_OF_OWNER })
  if (first === undefined) return
  const top = resolve(dirname(first))
  for (let above = dirname(resolve(folder)); above.startsWith(top); above = dirname(above)) {
    syncFolder(above)
    if (above === top) return
  }
}

/** The codes of platforms and file systems that cannot sync a folder, such as Windows, Android and some mounts. */
const CANNOT_SYNC = ['EINVAL', 'EPERM', 'EACCES', 'EISDIR', 'EBADF', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Syncs the names in a folder to the disk, if that is possible here. */
export function syncFolder(folder: string): void {
  let handle: number | undefined
  try {
    handle = openSync(folder, 'r')
    fsyncSync(handle)
  } catch (error) {
    if (!CANNOT_SYNC.includes(codeOf(error) ?? '')) throw error
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}

async function syncFolderLater(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(unlessUnsyncable)
  await handle?.sync().catch(unlessUnsyncable)
  await handle?.close()
}

function unlessUnsyncable(error: unknown): undefined {
  if (!CANNOT_SYNC.includes(codeOf(error) ?? '')) throw error
}
