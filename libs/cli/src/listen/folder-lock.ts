import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, UsageError } from '../io.ts'

const FOLDER_OF_OWNER = 0o700
const OWNER_ALONE = 0o600

/**
 * Takes a folder for this process. The lock is a file with the holder's process id and time of start, and is void once that process
 * is gone, however it ended.
 * @throws UsageError where another process has the folder, or it cannot be written to.
 */
export function lockFolder(folder: string): Disposable {
  const lock = join(folder, 'lock')
  const mine = `${lock}.${process.pid}`
  const content = `${process.pid} ${startOf(process.pid)}\n`
  try {
    mkdirSync(folder, { recursive: true, mode: FOLDER_OF_OWNER })
    writeFileSync(mine, content, { mode: OWNER_ALONE })
  } catch (cause) {
    throw new UsageError(`${folder} cannot be written to: ${reasonOf(cause)}`, { cause })
  }
  try {
    while (!tryLink(mine, lock)) clearStale(lock, folder)
  } finally {
    rmSync(mine, { force: true })
  }
  return {
    [Symbol.dispose]: () => {
      if (read(lock) === content) rmSync(lock, { force: true })
    },
  }
}

/** A link appears whole or not at all, and never over another. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function clearStale(lock: string, folder: string): void {
  const holder = read(lock)
  if (holder === undefined) return
  const [pid = '', ...start] = holder.trim().split(' ')
  if (isAlive(Number(pid), start.join(' '))) {
    throw new UsageError(`process ${pid} listens with ${folder} already: end it, or choose another --state`)
  }
  // Moved, not removed: whoever moves it wins, and puts it back if another process took the lock meanwhile.
  const moved = `${lock}.stale.${process.pid}`
  try {
    renameSync(lock, moved)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  if (read(moved) !== holder) tryLink(moved, lock)
  rmSync(moved, { force: true })
}

function isAlive(pid: number, start: string): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false
  }
  return startOf(pid) === start
}

/** Tells two processes apart that had one id. Only Linux says it without a command; elsewhere the id alone counts. */
function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`)
  const boot = read('/proc/sys/kernel/random/boot_id')?.trim()
  // The name of the program may hold anything but comes first, in brackets; the start is the 20th field behind it.
  const started = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  return started === undefined || boot === undefined ? '' : `${boot} ${started}`
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
