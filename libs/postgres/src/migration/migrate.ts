import { runner } from 'node-pg-migrate'
import type pg from 'pg'
import { connectClient } from '../connection/client.ts'
import { parseServer } from '../connection/server.ts'
import { replaceFunctions } from './functions.ts'
import { numberedFiles } from './numbered-files.ts'
import { RESTORING, UnfinishedRestoreError } from './restoring.ts'
import { readSchemaFiles, type SchemaFiles } from './schema-files.ts'

interface MigrateOptions {
  /** Connects as the role that will own the schema's objects. */
  url: string
  /** The schema, which is also the name of the service. Created if it does not exist. */
  schema: string
  /** The service's folder `database`: numbered files in `tables`, one current file for each function in `functions`. */
  dir: string
  log?: (line: string) => void
  /**
   * For a restore (restoring.ts). The URL is an administrator's, who becomes the schema's owner. `through`: runs only so many
   * numbered files, and replaces no function.
   */
  restore?: { readonly through?: number }
}

/** The schema has the tables of a version that this one cannot upgrade. The message says what to do. */
export class OldLayoutError extends Error {
  override name = 'OldLayoutError'
}

/** The wait for another process that migrates the same schema. */
const LOCK_RETRY_MS = 50
const LOCK_WAIT_MS = 60_000
/**
 * While a migration waits for a table lock, every later statement on the table waits behind it. So it gives up before calls run
 * into their deadlines, and before Postgres (`deadlock_timeout`, 1 s) aborts the transaction of a service instead.
 */
const TABLE_WAIT_MS = 800
const TABLE_RETRY_MS = 500
/** About two minutes of lock timeouts. Attempts are counted, not time, so that the build of an index does not use them up. */
const TABLE_ATTEMPTS = 90
const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/**
 * Brings a schema up to date. First it runs every new numbered file once, in order, each in its own transaction unless
 * its first line says otherwise (numbered-files.ts). Then it replaces the functions whose text has changed, in one transaction.
 *
 * Two processes may start it at once: the second waits and then finds nothing to do. It may be killed and restarted at any
 * time. It is safe while services use the schema: a file that does not get its table locks at once is retried later. Do not edit
 * a numbered file after it was run.
 *
 * @throws OldLayoutError if the schema is older than the baseline of its files. Nothing is changed then.
 * @throws UnfinishedRestoreError if the database has only a part of a backup. Nothing is changed then.
 */
export async function migrate({ url, schema, dir, log = () => {}, restore }: MigrateOptions): Promise<void> {
  const files = readSchemaFiles(dir, schema)
  const server = parseServer(url)
  for (const reason of server.ignored) log(`SVC_DATABASE_URL: ${reason}`)
  const client = await connectClient(server, 'svc-migrate')
  try {
    await withMigrationLock(client, schema, async () => {
      if (restore === undefined) await refuseUnfinishedRestore(client)
      else await client.query(`set role "${schema}_owner"`)
      // A role that only owns the schema may not even run "create schema if not exists".
      const found = await client.query('select from pg_catalog.pg_namespace where nspname = $1', [schema])
      const missing = found.rowCount === 0
      if (!missing) await refuseOvertaken(client, schema, files)
      const up = async (): Promise<void> => {
        await runner({
          dbClient: client,
          dir: files.tablesDir,
          migrationLoaderStrategies: [numberedFiles(TABLE_WAIT_MS)],
          direction: 'up',
          schema,
          createSchema: missing,
          migrationsTable: 'migrations',
          migrationsSchema: schema,
          createMigrationsSchema: missing,
          // The library's lock fails at once if another process holds it; ours waits.
          noLock: true,
          // The library reports a recorded name without a file as a gap; refuseOvertaken accepts it.
          checkOrder: false,
          singleTransaction: false,
          log,
          ...(restore?.through === undefined ? {} : { count: restore.through }),
        })
        if (restore?.through === undefined) await replaceFunctions(client, schema, files.functions, log)
      }
      await client.query(`set lock_timeout = ${TABLE_WAIT_MS}`)
      await untilNobodyIsInTheWay(client, up)
    })
  } finally {
    await client.end()
  }
}

async function refuseUnfinishedRestore(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query('select from pg_catalog.pg_namespace where nspname = $1', [RESTORING])
  if (rowCount !== 0) throw new UnfinishedRestoreError()
}

/**
 * Numbered files must run in the order of their names, and a baseline is the first of them. A recorded name without a file is
 * fine: a later release has run it.
 */
async function refuseOvertaken(client: pg.Client, schema: string, { tables }: SchemaFiles): Promise<void> {
  const record = `"${schema}".migrations`
  const { rows: found } = await client.query<{ there: boolean }>(
    'select pg_catalog.to_regclass($1) is not null as there',
    [record],
  )
  if (found[0]?.there !== true) return
  const { rows } = await client.query<{ name: string }>(`select name from ${record}`)
  const run = new Set(rows.map(({ name }) => name))
  const [first = ''] = tables
  if (run.size > 0 && first.endsWith('_baseline') && !run.has(first)) {
    throw new OldLayoutError(
      `the schema ${schema} has the tables of an earlier version, which cannot be upgraded: begin with an empty database`,
    )
  }
  const last = [...run].toSorted().at(-1) ?? ''
  const overtaken = tables.find((name) => !run.has(name) && name < last)
  if (overtaken !== undefined)
    throw new Error(`${overtaken} must come after ${last}, which was run in ${schema}: raise its number`)
}

async function withMigrationLock(client: pg.Client, schema: string, work: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + LOCK_WAIT_MS
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>(
      `select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('svc.migrate.' || $1, 0)) as taken`,
      [schema],
    )
    if (rows[0]?.taken === true) break
    if (Date.now() > deadline) throw new Error(`another process is migrating ${schema} and does not finish`)
    await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS))
  }
  await work()
}

/** Retries `work` after a lock timeout or a deadlock. Finished files stay finished. @throws the last error. */
async function untilNobodyIsInTheWay(client: pg.Client, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work()
      return
    } catch (error) {
      const { code } = error as { code?: unknown }
      if ((code !== LOCK_NOT_AVAILABLE && code !== DEADLOCK_DETECTED) || attempt === TABLE_ATTEMPTS) throw error
      // The failed step may have left its transaction open, or the lock timeout off.
      await client.query('rollback')
      await client.query(`set lock_timeout = ${TABLE_WAIT_MS}`)
      await new Promise((resolve) => setTimeout(resolve, TABLE_RETRY_MS))
    }
  }
}
