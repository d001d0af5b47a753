import { createReadStream } from 'node:fs'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { connectClient } from '@svc/postgres/connection/client.ts'
import { parseServer } from '@svc/postgres/connection/server.ts'
import { migrate } from '@svc/postgres/migration/migrate.ts'
import { RESTORING } from '@svc/postgres/migration/restoring.ts'
import { prepareRoles } from '@svc/postgres/migration/roles.ts'
import { readSchemaFiles } from '@svc/postgres/migration/schema-files.ts'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { BackupError } from './backup-error.ts'
import { listTables, nameOf, quote } from './catalog.ts'
import { checkFiles } from './files.ts'
import { type CopiedTable, type Manifest, readManifest } from './manifest.ts'
import { prepareTarget } from './prepare-target.ts'

interface RestoreOptions {
  /** Of a role that may create roles, and of a database without data of the system. */
  readonly url: string
  readonly folder: string
  /** The services with a schema, and the folder `database` of each. */
  readonly stores: ReadonlyMap<string, string>
  /** All heads are raised by this number of positions. */
  readonly raiseBy: number
  /** Why, for the audit of messaging. Who is the login. */
  readonly reason: string
  readonly signal: AbortSignal
  readonly onStep: (step: string) => void
}

export interface Restored {
  readonly manifest: Manifest
  /** The logs whose heads were raised. */
  readonly raisedLogs: number
}

/**
 * Puts a backup into an empty database. If it is interrupted anywhere, repeat it: until the last commit, the database is marked
 * as unfinished (libs/postgres, restoring.ts), so no service starts on it, and a repeat begins again.
 * @throws BackupError if the backup is damaged or of a later release, or if the database is in use or has data.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { url, stores, signal, onStep } = options
  const folder = resolve(options.folder)
  const manifest = readManifest(folder)
  refuseLaterRelease(manifest, stores)
  onStep('checking the files')
  await checkFiles(folder, manifest, signal)
  const client = await connectClient(parseServer(url), 'svc-restore')
  try {
    const names = [...stores.keys()]
    await prepareTarget(client, names, manifest)
    failpoint('restore.marked')
    await prepareRoles({ adminUrl: url, stores: names })
    onStep('creating the tables')
    for (const [schema, dir] of stores) {
      const through = manifest.schemas.find(({ name }) => name === schema)?.migrations.length ?? 0
      if (through > 0) await migrate({ url, schema, dir, restore: { through } })
    }
    await copyIn(client, folder, manifest, options)
    failpoint('restore.copied')
    onStep('preparing for this release')
    for (const [schema, dir] of stores) await migrate({ url, schema, dir, restore: {} })
    await client.query('analyze')
    signal.throwIfAborted()
    return { manifest, raisedLogs: await finish(client, manifest, options) }
  } finally {
    await client.end().catch(() => {})
  }
}

/** The migrations that had run must be the first ones of this release. This release then runs the rest, as in an upgrade. */
function refuseLaterRelease({ schemas, release }: Manifest, stores: RestoreOptions['stores']): void {
  for (const { name, migrations } of schemas) {
    const dir = stores.get(name)
    const known = dir === undefined ? [] : readSchemaFiles(dir, name).tables
    const strange = migrations.find((migration, at) => known[at] !== migration)
    if (strange !== undefined || dir === undefined)
      throw new BackupError(
        `the backup was made by release ${release}, with ${strange ?? 'the schema'} in ${name}, which this release does not have: use release ${release} or a later one`,
      )
  }
}

/** All rows in one transaction. */
async function copyIn(
  client: Client,
  folder: string,
  { tables, sequences, schemas }: Manifest,
  { signal, onStep }: RestoreOptions,
): Promise<void> {
  const present = await listTables(
    client,
    schemas.map(({ name }) => name),
  )
  await client.query('begin')
  // Migrations have put first rows into some tables.
  await client.query(`truncate ${present.map(({ schema, table }) => nameOf(schema, table)).join(', ')}`)
  for (const table of tables) {
    signal.throwIfAborted()
    if (table.rows > 0) onStep(`${table.schema}.${table.table}: ${table.rows} rows`)
    await copyTable(client, table, folder, signal)
    failpoint('restore.table')
  }
  for (const { schema, sequence, value, called } of sequences)
    await client.query('select pg_catalog.setval($1::regclass, $2::bigint, $3)', [
      nameOf(schema, sequence),
      value,
      called,
    ])
  await client.query('commit')
}

async function copyTable(
  client: Client,
  { schema, table, columns, rows, file }: CopiedTable,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const target = client.query(
    copyFrom(`copy ${nameOf(schema, table)} (${columns.map(quote).join(', ')}) from stdin (encoding 'UTF8')`),
  )
  await pipeline(createReadStream(join(folder, file)), target, { signal })
  if (target.rowCount !== rows)
    throw new BackupError(`${file} has ${target.rowCount} rows instead of ${rows}: use another backup`)
}

/** The last commit: messages get numbers of this server, heads are raised, and the database is no longer marked. */
async function finish(client: Client, { id, moment }: Manifest, { raiseBy, reason }: RestoreOptions): Promise<number> {
  const reference = `restore ${id}`
  await client.query('begin')
  await client.query('select messaging.renumber_messages()')
  const { rows } = await client.query<{ raised: string }>(
    'select r.raised::text as raised from messaging.raise_heads($1, $2, 2147483647, 60000) r',
    [reference, raiseBy],
  )
  const raised = Number(rows[0]?.raised)
  await recordRestore(client, { reference, reason, result: { by: raiseBy, logs: raised, moment } })
  await client.query(`drop schema ${RESTORING}`)
  failpoint('restore.finishing')
  await client.query('commit')
  return raised
}

async function recordRestore(
  client: Client,
  { reference, reason, result }: { reference: string; reason: string; result: object },
): Promise<void> {
  await client.query(
    `insert into messaging.audit (operator, action, reference, reason, result) values (session_user, 'restore', $1, $2, $3)`,
    [reference, reason, JSON.stringify(result)],
  )
}
