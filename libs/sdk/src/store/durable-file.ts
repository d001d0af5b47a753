import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError } from '../errors.ts'

const OWNER_ALONE = 0o600
const FOLDER_OF_OWNER = 0o700

/**
 * Writes a file atomically, even if the process is killed or the machine loses power. The file is on the disk when this
 * returns. Only one process may write a path at a time, unless each has a file of its own for the `unfinished` text.
 * @throws StoreError if the file cannot be written, e.g. because the disk is full.
 */
export function writeDurably(path: string, text: string, unfinished = `${path}.new`): void {
  try {
    write(path, text, unfinished)
  } catch (cause) {
    throw new StoreError(`${path} cannot be written: ${reasonOf(cause)}`, { cause })
  }
}

function write(path: string, text: string, unfinished: string): void {
  const folder = dirname(path)
  makeFolder(folder)
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

/** The system's reason without the path and the system call, e.g. `no such file or directory`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return /^[A-Z]+: ([^,]+),/.exec(message)?.[1] ?? message
}
