import { randomBytes } from 'node:crypto'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreError } from '@svc/sdk/errors.ts'
import { codeOf, reasonOf } from '@svc/sdk/store/system-error.ts'
import { StartError } from '../errors.ts'

const OWNER_ALONE = 0o600
const OWNER_FOLDER = 0o700
const OTHERS = 0o077
const WRITTEN_BY_OTHERS = 0o022
/** A file that is still empty after this time was left by a process that died while it created the file. */
const ABANDONED_MS = 2_000
const LOOK_MS = 20

/**
 * Creates a folder for this agent's state.
 * @throws StartError if others can write to it, because they could plant a pinned key or an approval.
 */
export function makeOwnFolder(path: string): void {
  makeFolder(path)
  const { uid, mode } = statSync(path)
  const isOurs = process.getuid === undefined || uid === process.getuid()
  if (process.platform === 'win32' || (isOurs && (mode & WRITTEN_BY_OTHERS) === 0)) return
  throw new StartError(
    `others can write to the folder ${path}: run chmod 700 ${path} as its owner, or use another folder with --state`,
  )
}

/** Creates a folder and its parents. Only the owner can read them. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: OWNER_FOLDER })
  } catch (cause) {
    throw new StoreError(`${path} cannot be created as a folder: ${reasonOf(cause)}`, { cause })
  }
}

/**
 * Writes a file that must not exist yet. Needs no hard links, because some file systems have none (exFAT, Android). Until the
 * content is written, other processes see an empty file: see `readCreated`.
 * @returns false if another process was first. @throws StoreError.
 */
export function createFile(path: string, content: string): boolean {
  makeFolder(dirname(path))
  let file: number
  try {
    file = openSync(path, 'wx', OWNER_ALONE)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw cannotWrite(path, error)
    return content !== '' && isAbandoned(path) && removeIfEmpty(path) && createFile(path, content)
  }
  try {
    writeFileSync(file, content, { flush: true })
  } catch (error) {
    rmSync(path, { force: true })
    throw cannotWrite(path, error)
  } finally {
    closeSync(file)
  }
  // If this process stalled before it wrote the content, another process may have replaced the file meanwhile.
  return (readIfThere(path)?.toString('utf8') ?? content) === content
}

function isAbandoned(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.size === 0 && Date.now() - stat.mtimeMs > ABANDONED_MS
}

/** Reads a file of `createFile`. Waits for a process that creates it at this moment. @returns undefined if it does not exist. */
export function readCreated(path: string): string | undefined {
  const untilMs = Date.now() + ABANDONED_MS
  for (;;) {
    const content = readIfThere(path)?.toString('utf8')
    if (content !== '' || Date.now() > untilMs || isAbandoned(path)) return content
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS)
  }
}

/**
 * @returns undefined if the file does not exist.
 * @throws StoreError.
 */
export function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new StoreError(`${path} cannot be read: ${reasonOf(error)}`, { cause: error })
  }
}

/** Whether others than the owner can read a file. False on Windows, which has no permission bits. */
export function canOthersRead(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & OTHERS) !== 0
}

/** Time of the last write in epoch milliseconds. Undefined if the file does not exist. */
export function writtenAtMs(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}

/** Sets the time of the last write to now. @returns false if the file does not exist. @throws StoreError. */
export function touchFile(path: string): boolean {
  try {
    const now = new Date()
    utimesSync(path, now, now)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw cannotWrite(path, error)
  }
}

/**
 * Removes a file if it is still empty. If several processes try, only one succeeds, because only one can rename the
 * file.
 * @returns false if another process was first.
 * @throws StoreError.
 */
function removeIfEmpty(path: string): boolean {
  // Most late processes stop here. A process that continues moves a newer file away for a moment, and a third process could
  // create the file meanwhile.
  if (readIfThere(path)?.length !== 0) return false
  const moved = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    renameSync(path, moved)
    const found = readFileSync(moved, 'utf8')
    if (found === '') return true
    createFile(path, found)
    return false
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw cannotWrite(path, error)
  } finally {
    rmSync(moved, { force: true })
  }
}

/** Removes the oldest files of a folder until it is within all of these bounds. */
export function removeOldest(folder: string, most: { files: number; bytes: number; seconds: number }): void {
  const files = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat?.isFile() ? [{ path, atMs: stat.mtimeMs, bytes: stat.size }] : []
  })
  const sinceMs = Date.now() - most.seconds * 1000
  let bytes = 0
  files.sort((a, b) => b.atMs - a.atMs)
  for (const [at, file] of files.entries()) {
    bytes += file.bytes
    if (at >= most.files || bytes > most.bytes || file.atMs < sinceMs) rmSync(file.path, { force: true })
  }
}

function cannotWrite(path: string, cause: unknown): StoreError {
  return new StoreError(`${path} cannot be written: ${reasonOf(cause)}`, { cause })
}
