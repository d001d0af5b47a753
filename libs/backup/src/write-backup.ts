import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { connectClient } from '@svc/postgres/connection/client.ts'
import { parseServer } from '@svc/postgres/connection/server.ts'
import type { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { BackupError, explainDisk } from './backup-error.ts'
import { findSchemas, listMigrations, listSequences, listTables, nameOf, quote, type TableInfo } from './catalog.ts'
import { syncFolder, writeHashed, writeSynced } from './files.ts'
import { removeOld, removeUnfinished, UNFINISHED } from './kept-backups.ts'
import { type CopiedTable, encodeManifest, FORMAT, MANIFEST, type Manifest } from './manifest.ts'

interface BackupOptions {
  /** Of a role that may read every schema. */
  readonly url: string
  /** Must not exist, or be empty. The folder above it must exist. */
  readonly folder: string
  /** Then the folder above it holds backups, and only so many of the newest stay in it. */
  readonly keep?: number | undefined
  /** Every schema of the system. All must be in the database of the URL. */
  readonly schemas: readonly string[]
  readonly release: string
  readonly signal: AbortSignal
  readonly onTable: (table: CopiedTable) => void
  readonly onRemoved?: (name: string) => void
}

/** A backup waits this long for tables that a migration or a purge has locked. */
const LOCK_WAIT = '10s'
/** Postgres's code for a lock timeout. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Copies all schemas as they are at one moment, while the system works. Everything is written to `<folder>.unfinished`, synced
 * to disk, and renamed at the end. So `folder` has a complete backup or does not exist.
 * @throws BackupError if it is refused. Then, and after every other error, `folder` is as before.
 */
export async function writeBackup(options: BackupOptions): Promise<Manifest> {
  const folder = resolve(options.folder)
  refuseFull(folder)
  const client = await connectClient(parseServer(options.url), 'svc-backup')
  try {
    await lockOut(client)
    if (options.keep === undefined) return await writeLocked(client, folder, options)
    removeUnfinished(dirname(folder)) // first, because it may have filled the disk
    const manifest = await writeLocked(client, folder, options)
    failpoint('backup.removing')
    for (const name of removeOld(dirname(folder), options.keep)) options.onRemoved?.(name)
    return manifest
  } finally {
    await client.end().catch(() => {})
  }
}

async function writeLocked(client: Client, folder: string, options: BackupOptions): Promise<Manifest> {
  const unfinished = folder + UNFINISHED
  try {
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished, { mode: 0o700 })
    const manifest = await copyAll(client, unfinished, options)
    writeSynced(join(unfinished, MANIFEST), encodeManifest(manifest))
    syncFolder(unfinished)
    failpoint('backup.written')
    renameSync(unfinished, folder)
    syncFolder(dirname(folder))
    return manifest
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw explainDisk(error, folder)
  }
}

function refuseFull(folder: string): void {
  if (!existsSync(dirname(folder))) throw new BackupError(`${dirname(folder)} does not exist: create it first`)
  if (!existsSync(folder)) return
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (cause) {
    throw new BackupError(`${folder} is not a folder`, { cause })
  }
  if (names.length > 0) throw new BackupError(`${folder} is not empty: name a new folder for each backup`)
}

/** One backup of a database at a time, because two could use the same folder. The lock ends with the connection. */
async function lockOut(client: Client): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(
    `select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('svc.backup', 0)) as taken`,
  )
  if (rows[0]?.taken !== true) throw new BackupError('another backup of this database is at work: wait for its end')
}

async function copyAll(client: Client, folder: string, options: BackupOptions): Promise<Manifest> {
  const { schemas, release, signal, onTable } = options
  const found = await findSchemas(client, schemas)
  const missing = schemas.filter((schema) => !found.includes(schema))
  if (missing.length > 0) throw new BackupError(absent(missing))
  const listed = await listTables(client, schemas)
  await client.query(`begin isolation level repeatable read`)
  await lockTables(client, listed)
  // The snapshot is taken here, after the locks. A partition that is truncated later than the snapshot would look empty in it.
  const { rows: moments } = await client.query<{ moment: Date; postgres: string }>(
    `select pg_catalog.statement_timestamp() as moment, pg_catalog.current_setting('server_version') as postgres`,
  )
  const tables = await listTables(client, schemas)
  if (JSON.stringify(tables) !== JSON.stringify(listed))
    throw new BackupError('a migration has changed the tables in the meantime: repeat the backup')
  const copied: CopiedTable[] = []
  for (const table of tables) {
    signal.throwIfAborted()
    const one = await copyTable(client, table, folder, signal)
    copied.push(one)
    failpoint('backup.table')
    onTable(one)
  }
  const migrations = []
  for (const name of schemas) migrations.push({ name, migrations: await listMigrations(client, name) })
  const manifest: Manifest = {
    format: FORMAT,
    id: randomUUID(),
    release,
    postgres: moments[0]?.postgres ?? '',
    moment: (moments[0]?.moment ?? new Date()).toISOString(),
    schemas: migrations,
    tables: copied,
    // Sequences are not part of a snapshot. They are read last, so that no value of a copied row is given again.
    sequences: await listSequences(client, schemas),
    webhookKeys: await listWebhookKeys(client),
  }
  await client.query('commit')
  return manifest
}

function absent(schemas: readonly string[]): string {
  return `the database has no ${schemas.length === 1 ? 'schema' : 'schemas'} ${schemas.join(', ')}. svc admin backup copies one database with all schemas. If services have databases of their own, use point-in-time recovery: docs/operating/back-up.md`
}

/** Reads and writes go on. Migrations, and purges that empty a partition, wait until the backup ends. */
async function lockTables(client: Client, tables: readonly TableInfo[]): Promise<void> {
  await client.query(`set local lock_timeout = '${LOCK_WAIT}'`)
  try {
    const names = tables.map(({ schema, table }) => nameOf(schema, table))
    await client.query(`lock table only ${names.join(', only ')} in access share mode`)
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error
    throw new BackupError(`a table was locked for ${LOCK_WAIT}, perhaps by a migration: repeat the backup`, {
      cause: error,
    })
  }
}

async function copyTable(
  client: Client,
  { schema, table, columns }: TableInfo,
  folder: string,
  signal: AbortSignal,
): Promise<CopiedTable> {
  const file = `${schema}.${table}.copy`
  const rows = client.query(
    copyTo(`copy ${nameOf(schema, table)} (${columns.map(quote).join(', ')}) to stdout (encoding 'UTF8')`),
  )
  const written = await writeHashed(rows, join(folder, file), signal)
  return { schema, table, columns, rows: rows.rowCount, file, ...written }
}

async function listWebhookKeys(client: Client): Promise<Manifest['webhookKeys']> {
  const { rows } = await client.query<{ id: string; secrets: number }>(
    `select e.key_id as id, count(*)::integer as secrets from webhook.endpoints e where e.key_id is not null group by 1 order by 1`,
  )
  return rows
}
