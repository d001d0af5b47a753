import { createHash } from 'node:crypto'
import { closeSync, createReadStream, createWriteStream, fsyncSync, openSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BackupError } from './backup-error.ts'
import type { Manifest } from './manifest.ts'

/** Writes a new file and syncs it to disk. @returns its size and checksum. */
export async function writeHashed(
  from: Readable,
  path: string,
  signal: AbortSignal,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(
    from,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        bytes += chunk.length
        yield chunk
      }
    },
    createWriteStream(path, { mode: 0o600, flags: 'wx', flush: true }),
    { signal },
  )
  return { bytes, sha256: hash.digest('hex') }
}

/** Writes a small file and syncs it to disk. */
export function writeSynced(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flush: true })
}

/** Makes new names in the folder durable. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Reads every file of the backup. @throws BackupError that names the first file that is missing or damaged. */
export async function checkFiles(folder: string, { tables }: Manifest, signal: AbortSignal): Promise<void> {
  for (const { file, bytes } of tables) {
    const found = statSync(join(folder, file), { throwIfNoEntry: false })
    if (found === undefined) throw new BackupError(`${join(folder, file)} is missing: use another backup`)
    if (found.size !== bytes) throw damaged(folder, file)
  }
  for (const { file, sha256 } of tables) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(join(folder, file)), hash, { signal })
    if (hash.digest('hex') !== sha256) throw damaged(folder, file)
  }
}

function damaged(folder: string, file: string): BackupError {
  return new BackupError(`${join(folder, file)} is damaged: use another backup`)
}
