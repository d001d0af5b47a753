import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findMarked, type Mark, waitUntil } from '@svc/processes/marks.ts'
import { codeOf, StartError } from '../start-error.ts'

/** A keeper notices at once that its launcher is gone, but may have to wait for CPU. */
const NOTICE_LIMIT_MS = 3_000
/** The limit for a keeper to end a run. Its longest wait is for Postgres to shut down. */
const ENDING_LIMIT_MS = 60_000

/**
 * Takes the data folder for one run. The lock is a file with the run's id, and is valid while the run's keeper lives.
 * The caller must have started its keeper already.
 * @throws StartError if another run has the folder.
 */
export async function lockFolder(folder: string, mark: Mark): Promise<Disposable> {
  const lock = join(folder, 'lock')
  const mine = `${lock}.${mark.run}`
  writeFileSync(mine, mark.run, { mode: 0o600 })
  try {
    while (!tryLink(mine, lock)) await clearLock(lock, mark)
  } finally {
    unlinkSync(mine)
  }
  return { [Symbol.dispose]: () => rmSync(lock, { force: true }) }
}

/** A hard link appears atomically, and never replaces an existing file. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function clearLock(lock: string, mark: Mark): Promise<void> {
  const holder = readLock(lock)
  if (holder === undefined) return
  const keepers = (): string[] => findMarked(mark.stack, holder).map(({ name }) => name)
  if (!(await waitUntil(() => !keepers().includes('keeper'), NOTICE_LIMIT_MS))) {
    throw new StartError(
      'The stack is already running on this data: stop it first, or set SVC_DATA_DIR to another folder.',
    )
  }
  if (!(await waitUntil(() => !keepers().includes('ending'), ENDING_LIMIT_MS))) {
    throw new StartError('The previous run is still running: look for its processes with "ps ax | grep svc:".')
  }
  // The holder is dead. Rename the lock instead of removing it: only one process can win the rename, and the winner notices
  // if the lock was replaced meanwhile.
  const moved = `${lock}.stale.${mark.run}`
  try {
    renameSync(lock, moved)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  if (readLock(moved) !== holder) tryLink(moved, lock)
  rmSync(moved, { force: true })
}

function readLock(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    return /^[0-9a-f]{8}$/.test(text) ? text : '00000000'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
