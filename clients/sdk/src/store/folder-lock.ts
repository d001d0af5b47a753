import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../errors.ts'
import { codeOf, reasonOf } from './system-error.ts'

const FOLDER_OF_OWNER = 0o700
const OWNER_ALONE = 0o600
/** In the folder that is the lock. */
const HOLDER = 'holder'

/**
 * Locks a folder for this process. The lock is a folder with a file in it, which has the holder's process id and start time.
 * It becomes void when that process ends, for whatever reason.
 * @throws StoreError if another process has the folder, or the folder is not writable.
 */
export function lockFolder(folder: string): Disposable {
  const lock = join(folder, 'locked')
  const mine = `${lock}.${process.pid}`
  const content = `${process.pid} ${startOf(process.pid)}\n`
  try {
    mkdirSync(mine, { recursive: true, mode: FOLDER_OF_OWNER })
    writeFileSync(join(mine, HOLDER), content, { mode: OWNER_ALONE })
    while (!tryRename(mine, lock)) clearStale(lock, folder)
  } catch (cause) {
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`${folder} cannot be locked: ${reasonOf(cause)}`, { cause })
  } finally {
    rmSync(mine, { recursive: true, force: true })
  }
  return {
    [Symbol.dispose]: () => {
      if (holderOf(lock) !== content) return
      // Renamed first, because an empty folder would be a lock that anybody may take.
      renameSync(lock, mine)
      rmSync(mine, { recursive: true, force: true })
    },
  }
}

/** Atomic, and never replaces a folder that has a file. Not every file system has hard links, which could do that with files. */
function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '') || existsSync(to)) return false
    throw error
  }
}

function clearStale(lock: string, folder: string): void {
  const holder = holderOf(lock)
  if (holder === undefined) return
  const [pid = '', ...start] = holder.trim().split(' ')
  if (isAlive(Number(pid), start.join(' '))) {
    throw new StoreError(`process ${pid} already uses ${folder}: stop it, or choose another folder`)
  }
  // Rename it instead of removing it, because only one process can succeed. If another process has taken the lock
  // meanwhile, put it back.
  const moved = `${lock}.stale.${process.pid}`
  rmSync(moved, { recursive: true, force: true })
  try {
    renameSync(lock, moved)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  if (holderOf(moved) !== holder) tryRename(moved, lock)
  rmSync(moved, { recursive: true, force: true })
}

/** Undefined if nobody holds the lock. */
function holderOf(lock: string): string | undefined {
  try {
    return readFileSync(join(lock, HOLDER), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
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

/**
 * The start time of a process, needed because process ids are reused. Only Linux tells it without starting a command. On
 * other systems, only the id is compared.
 */
function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`)
  const boot = read('/proc/sys/kernel/random/boot_id')?.trim()
  // The program name, in brackets, may contain anything. The state is the first field after it, the start time the 20th.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  // A killed process stays as a zombie until its parent has taken its exit code.
  const started = fields[0] === 'Z' ? undefined : fields[19]
  return started === undefined || boot === undefined ? '' : `${boot} ${started}`
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
