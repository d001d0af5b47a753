import { runner } from 'node-pg-migrate'
import pg from 'pg'
import { parseServer } from './server.ts'

export interface MigrateOptions {
  /** A connection as the role that shall own the schema's objects. */
  url: string
  /** The schema, which is also the name of the service. Made where it does not exist. */
  schema: string
  /** Folder of numbered SQL files. */
  dir: string
  log?: (line: string) => void
}

/** Waiting for another process that migrates the same schema. */
const LOCK_RETRY_MS = 50
const LOCK_WAIT_MS = 60_000
/**
 * Whoever comes behind a statement that waits for a table waits for it too, so it gives up before a call would run out of time,
 * and before Postgres (`deadlock_timeout`, 1 s) ends the transaction of a service in its place.
 */
const TABLE_WAIT_MS = 800
const TABLE_RETRY_MS = 500
const TABLE_LIMIT_MS = 120_000
const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/**
 * Brings a schema up to date: every file in its own transaction, in order, each once. Safe to start twice at once: the
 * second waits and then finds nothing to do. Safe while services work on the schema: a file that does not get its tables at once
 * is begun again later. A file that was run must not be edited afterwards.
 */
export async function migrate({ url, schema, dir, log = () => {} }: MigrateOptions): Promise<void> {
  const server = parseServer(url)
  const client = new pg.Client({
    connectionString: server.url,
    ssl: server.ssl,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  // A lost connection fails the query under way; without a listener it would end the process.
  client.on('error', () => {})
  await client.connect().catch((error: unknown) => {
    throw server.asTlsError(error)
  })
  try {
    await withMigrationLock(client, schema, async () => {
      // A role that owns the schema and nothing else may not even say "create schema if not exists".
      const found = await client.query('select from pg_catalog.pg_namespace where nspname = $1', [schema])
      const missing = found.rowCount === 0
      const up = (): Promise<unknown> =>
        runner({
          dbClient: client,
          dir,
          direction: 'up',
          schema,
          createSchema: missing,
          migrationsTable: 'migrations',
          migrationsSchema: schema,
          createMigrationsSchema: missing,
          // The lock of the library fails at once when another holds it; ours waits.
          noLock: true,
          checkOrder: true,
          singleTransaction: false,
          log,
        })
      await client.query(`set lock_timeout = ${TABLE_WAIT_MS}`)
      await untilNobodyIsInTheWay(client, up)
    })
  } finally {
    await client.end()
  }
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

/** Each file is a transaction of its own, so what was done stays done. @throws what was in the way, when the time is over. */
async function untilNobodyIsInTheWay(client: pg.Client, work: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + TABLE_LIMIT_MS
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      const { code } = error as { code?: unknown }
      if ((code !== LOCK_NOT_AVAILABLE && code !== DEADLOCK_DETECTED) || Date.now() > deadline) throw error
      // The library leaves the transaction open.
      await client.query('rollback')
      await new Promise((resolve) => setTimeout(resolve, TABLE_RETRY_MS))
    }
  }
}
