import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AgentKey, formatKey, parseKey } from '@svc/sdk/keys.ts'
import { codeOf, reasonOf } from '@svc/sdk/store/system-error.ts'
import { UsageError } from '../io.ts'

const OWNER_ALONE = 0o600
const OTHERS = 0o077

/**
 * Writes a secret into a new file that only its owner can read. The file appears atomically, and is on the disk when this
 * returns. An existing file is never overwritten.
 * @throws UsageError if the file exists already or cannot be written.
 */
export function writeSecretFile(path: string, text: string): void {
  const unfinished = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    writeNew(unfinished, text)
    if (!tryLink(unfinished, path)) writeNew(path, text)
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') throw new UsageError(`${path} exists already and is not overwritten`, { cause })
    throw new UsageError(`${path} cannot be written: ${reasonOf(cause)}`, { cause })
  } finally {
    rmSync(unfinished, { force: true })
  }
}

function writeNew(path: string, text: string): void {
  const file = openSync(path, 'wx', OWNER_ALONE)
  try {
    // Unlike writeSync, fails if the disk takes only a part.
    writeFileSync(file, text, { flush: true })
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

/** Gives a finished file its final name. A link never replaces another file. @returns false if there are no links here. */
function tryLink(unfinished: string, path: string): boolean {
  try {
    linkSync(unfinished, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') throw error
    return false
  }
}

export function writeKeyFile(path: string, key: AgentKey): void {
  writeSecretFile(path, `${formatKey(key)}\n`)
}

/**
 * Reads a key.
 * @param warn is called if others than the owner can read the file.
 * @throws UsageError that never shows the content of the file.
 */
export function readKeyFile(path: string, warn: (text: string) => void): AgentKey {
  const { text, mode } = readWithMode(path)
  let key: AgentKey
  try {
    key = parseKey(text)
  } catch (cause) {
    throw new UsageError(`${path} is not a key file: ${reasonOf(cause)}`, { cause })
  }
  // Windows has no permission bits.
  if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
    warn(`warning: others can read ${path}, and could act as the agent: run chmod 600 ${path}`)
  }
  return key
}

function readWithMode(path: string): { text: string; mode: number } {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    return { mode: fstatSync(file).mode, text: readFileSync(file, 'utf8') }
  } catch (cause) {
    const hint = codeOf(cause) === 'ENOENT' ? `: svc keygen --key ${path} creates it` : ''
    throw new UsageError(`${path} cannot be read (${reasonOf(cause)})${hint}`, { cause })
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
