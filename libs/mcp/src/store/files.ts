import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const OWNER_ALONE = 0o600
const OWNER_FOLDER = 0o700
const OTHERS = 0o077

/** Makes a folder that its owner alone can read, with its parents. */
export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: OWNER_FOLDER })
}

/**
 * Writes a file in one step: a reader sees the old content or the new content, never a part, whichever process writes.
 * The file is readable by its owner alone.
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const temporary = writeTemporary(path, content)
  try {
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Writes a file that must not exist yet, complete from its first moment. @returns false if another process was first. */
export function createFile(path: string, content: string | Uint8Array): boolean {
  const temporary = writeTemporary(path, content)
  try {
    linkSync(temporary, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** @returns undefined where there is no such file. */
export function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Whether others than the owner can read a file. Windows keeps no such bits. */
export function canOthersRead(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & OTHERS) !== 0
}

/** Milliseconds since the epoch of the last write; undefined where there is no such file. */
export function writtenAtMs(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}

function writeTemporary(path: string, content: string | Uint8Array): string {
  makeFolder(dirname(path))
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  writeFileSync(temporary, content, { mode: OWNER_ALONE, flag: 'wx', flush: true })
  return temporary
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
