import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { StoreError } from '../errors.ts'

const OWNER_ALONE = 0o600
const FOLDER_OF_OWNER = 0o700

/**
 * Writes a file atomically, even if the process is killed or the machine loses power. The file is on the disk when this
 * returns. Only one process may write a path at a time.
 * @throws StoreError if the file cannot be written, e.g. because the disk is full.
 */
export function writeDurably(path: string, text: string): void {
  try {
    write(path, text)
  } catch (cause) {
    throw new StoreError(`${path} cannot be written: ${reasonOf(cause)}`, { cause })
  }
}

/** Like `writeDurably`, without blocking the process. Several writes of one path are safe, also by several processes: the last one stays. */
export async function writeDurablyLater(path: string, text: string): Promise<void> {
  writes += 1
  const unfinished = `${path}.${process.pid}.${writes}.new`
  try {
    makeFolder(dirname(path))
    const file = await open(unfinished, 'w', OWNER_ALONE)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, path)
    await syncFolderLater(dirname(path))
  } catch (cause) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw new StoreError(`${path} cannot be written: ${reasonOf(cause)}`, { cause })
  }
}

/** Names the unfinished files of this process. */
let writes = 0

function write(path: string, text: string): void {
  const folder = dirname(path)
  makeFolder(folder)
  const unfinished = `${path}.new`
  const file = openSync(unfinished, 'w', OWNER_ALONE)
  try {
    // Unlike writeSync, fails if the disk takes only a part.
    writeFileSync(file, text)
    fsyncSync(file)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  renameSync(unfinished, path)
  syncFolder(folder)
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
    if (!CANNOT_SYNC.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
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
  if (!CANNOT_SYNC.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
}

/** The system's reason without the path and the system call, e.g. `no such file or directory`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return /^[A-Z]+: ([^,]+),/.exec(message)?.[1] ?? message
}
