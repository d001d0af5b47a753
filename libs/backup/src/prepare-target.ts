import { RESTORING } from '@svc/postgres/migration/restoring.ts'
import type { Client } from 'pg'
import { BackupError } from './backup-error.ts'
import { findSchemas, listTables, quote } from './catalog.ts'
import type { Manifest } from './manifest.ts'

/**
 * Marks the database as unfinished, and makes it empty if an earlier restore was interrupted.
 * @throws BackupError if another process uses the database, or if it has data of the system. Nothing is changed then.
 */
export async function prepareTarget(
  client: Client,
  schemas: readonly string[],
  { id, moment }: Manifest,
): Promise<void> {
  const { rows: locks } = await client.query<{ taken: boolean; encoding: string }>(
    `select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('svc.restore', 0)) as taken,
       pg_catalog.current_setting('server_encoding') as encoding`,
  )
  const [lock] = locks
  if (lock?.taken !== true) throw new BackupError('another restore into this database is at work: wait for its end')
  if (lock.encoding !== 'UTF8')
    throw new BackupError(`the database has the encoding ${lock.encoding}: create one with the encoding UTF8`)
  await refuseUsed(client)
  const isUnfinished = (await findSchemas(client, [RESTORING])).length > 0
  if (!isUnfinished) await refuseData(client, schemas)
  await client.query(`create schema if not exists ${RESTORING}`)
  await client.query(
    `comment on schema ${RESTORING} is 'svc admin restore of the backup ${quoted(id)} of ${quoted(moment)}'`,
  )
  for (const schema of await findSchemas(client, schemas)) await client.query(`drop schema ${quote(schema)} cascade`)
}

async function refuseUsed(client: Client): Promise<void> {
  const { rows } = await client.query<{ who: string }>(
    `select distinct coalesce(nullif(a.application_name, ''), a.usename::text, 'somebody') as who
     from pg_catalog.pg_stat_activity a
     where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
       and a.backend_type = 'client backend' order by 1`,
  )
  if (rows.length > 0)
    throw new BackupError(`the database is in use by ${rows.map(({ who }) => who).join(', ')}: stop all services first`)
}

async function refuseData(client: Client, schemas: readonly string[]): Promise<void> {
  const tables = await listTables(client, schemas)
  if (tables.length === 0) return
  const found = [...new Set(tables.map(({ schema }) => schema))]
  throw new BackupError(
    `the database is not empty: it has tables of ${found.join(', ')}. A restore never replaces data: use a new database`,
  )
}

/** These come from a file, and `comment` takes no parameters. */
function quoted(text: string): string {
  return text.replaceAll("'", "''")
}
