/** `manifest.json`, which is written last: a folder without it is not a backup. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BackupError } from './backup-error.ts'

export const MANIFEST = 'manifest.json'
/** Raise it when an older release could not read the folder. */
export const FORMAT = 1

export interface CopiedTable {
  readonly schema: string
  readonly table: string
  /** Without generated columns. */
  readonly columns: readonly string[]
  readonly rows: number
  /** In the folder: the rows as `COPY` writes them, in its text format, in UTF-8. */
  readonly file: string
  readonly bytes: number
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string
}

export interface Manifest {
  readonly format: typeof FORMAT
  /** Different for each backup. */
  readonly id: string
  /** The release of `svc` that made the backup. */
  readonly release: string
  /** The version of the Postgres server. */
  readonly postgres: string
  /** The moment of all data, as ISO date and time. Messages that were accepted later are not in it. */
  readonly moment: string
  /** The numbered files that had run in each schema. */
  readonly schemas: readonly { readonly name: string; readonly migrations: readonly string[] }[]
  /** A table comes after the tables that its foreign keys name. */
  readonly tables: readonly CopiedTable[]
  readonly sequences: readonly { schema: string; sequence: string; value: string; called: boolean }[]
  /** The keys that the webhooks' secrets are encrypted with, by id, and how many secrets each encrypts. */
  readonly webhookKeys: readonly { readonly id: string; readonly secrets: number }[]
}

/** The text of the file. It ends with a checksum of the rest. */
export function encodeManifest(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, null, 1)}\n`
}

/** @throws BackupError if the folder is not a complete backup of a known format. */
export function readManifest(folder: string): Manifest {
  if (!existsSync(folder)) throw new BackupError(`${folder} does not exist`)
  const path = join(folder, MANIFEST)
  if (!existsSync(path))
    throw new BackupError(`${folder} is not a backup, or not a complete one: it has no ${MANIFEST}`)
  let parsed: Manifest & { checksum?: unknown }
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new BackupError(`${path} is damaged: use another backup`, { cause })
  }
  if (parsed.format !== FORMAT)
    throw new BackupError(
      `${folder} has the format ${String(parsed.format)}, and this release reads ${FORMAT}: use the release that made it`,
    )
  const { checksum, ...manifest } = parsed
  if (checksum !== checksumOf(manifest)) throw new BackupError(`${path} is damaged: use another backup`)
  return manifest
}

export function sizeOf({ tables }: Pick<Manifest, 'tables'>): { rows: number; bytes: number } {
  return tables.reduce((sum, { rows, bytes }) => ({ rows: sum.rows + rows, bytes: sum.bytes + bytes }), {
    rows: 0,
    bytes: 0,
  })
}

function checksumOf(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}
