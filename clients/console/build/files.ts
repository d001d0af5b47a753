/**
 * The built files of the console, for the gateway. The image brings them (`clients/console/built`). Elsewhere the first request
 * builds them in a process of its own, and the result is kept until a source changes.
 */
import { execFile } from 'node:child_process'
import { hash, randomUUID } from 'node:crypto'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The folder of this package. */
export const FOLDER = fileURLToPath(new URL('..', import.meta.url))
/** Where the gateway serves the files. */
export const SERVED_UNDER = '/console/'
/** Names the file in which a build lists its files. It is written last. */
export const LISTING = 'files.json'

export interface FileEntry {
  readonly name: string
  /** Media type, without its charset. */
  readonly type: string
  /** Whether the first screen loads it. */
  readonly isFirst: boolean
  readonly gzipBytes: number
}

export interface ConsoleFile extends FileEntry {
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly brotli: Buffer
  /** Weak, because it is the same for the plain and the compressed bytes. */
  readonly etag: string
}

const ROOT = join(FOLDER, '../../../libs')
const BUILT = join(FOLDER, 'built')
const COMMAND = join(FOLDER, 'build/main.ts')
/** Everything that a bundle is made of. The lockfile represents the packages. */
const SOURCES = ['libs/{console,contracts,envelope,sdk,svc1}/**/*.{ts,tsx,css,html,svg}', 'pnpm-lock.yaml']

/** Reads the built files, by name, and builds them first if necessary. @throws Error if they cannot be built. */
export async function loadConsole(): Promise<Map<string, ConsoleFile>> {
  if (existsSync(join(BUILT, LISTING))) return readBuilt(BUILT)
  const kept = join(ROOT, 'node_modules/.cache/console', hashOfSources())
  if (existsSync(join(kept, LISTING))) return readBuilt(kept)
  const { folder, isKept } = newFolder(kept)
  try {
    await promisify(execFile)(process.execPath, [COMMAND, folder])
    if (isKept) publish(folder, kept)
    return await readBuilt(isKept ? kept : folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function readBuilt(folder: string): Promise<Map<string, ConsoleFile>> {
  const entries = JSON.parse(readFileSync(join(folder, LISTING), 'utf8')) as FileEntry[]
  const files = entries.map(async (entry): Promise<[string, ConsoleFile]> => {
    const path = join(folder, entry.name)
    const [plain, gzip, brotli] = await Promise.all([readFile(path), readFile(`${path}.gz`), readFile(`${path}.br`)])
    const etag = `W/"${hash('sha256', plain, 'base64url').slice(0, 22)}"`
    return [entry.name, { ...entry, plain, gzip, brotli, etag }]
  })
  return new Map(await Promise.all(files))
}

function hashOfSources(): string {
  const paths = globSync(SOURCES, { cwd: ROOT, exclude: ['**/node_modules/**'] }).toSorted()
  return hash('sha256', paths.map((path) => `${path}\n${readFileSync(join(ROOT, path), 'utf8')}`).join('\n')).slice(
    0,
    32,
  )
}

/** A new folder beside the final one, or in the temporary folder if the installation is read-only. */
function newFolder(kept: string): { folder: string; isKept: boolean } {
  const folder = `${kept}.${randomUUID()}`
  try {
    mkdirSync(folder, { recursive: true })
    return { folder, isKept: true }
  } catch {
    // Nobody else knows this name, so no other user of the machine can have put files there.
    return { folder: mkdtempSync(join(tmpdir(), 'svc-console-')), isKept: false }
  }
}

/** Gives a finished build its final name. Another process may have been faster, with the same files. */
function publish(folder: string, kept: string): void {
  try {
    renameSync(folder, kept)
  } catch (error) {
    if (!existsSync(join(kept, LISTING))) throw error
  }
}
