import type { StoreName } from '@svc/local/topology.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '../database.ts'

/** Rows of a store that were read since the last reset. */
interface RowsRead {
  /** By scans of whole tables. */
  readonly sequential: number
  /** Through indexes. */
  readonly fetched: number
}

interface CountedDatabase extends AsyncDisposable {
  /** A connection with the service's rights. There is only one, so that a plan lives as long as the test. */
  readonly service: Database
  /** A connection for filling tables. Its reads do not count. */
  readonly admin: Database
  /** Counts the rows that `work` reads through `service`. */
  countReads(work: () => Promise<void>): Promise<RowsRead>
}

/** Filling the tables takes longer than the timeout of a call. */
const FILL_TIMEOUT_MS = 60_000

/** Creates a database whose reads are counted. @param tables to count; default: all of the store's. */
export async function createCountedDatabase(store: StoreName, tables?: readonly string[]): Promise<CountedDatabase> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase([store]))
  const common = { application: 'test', logger: createLogger('test', 'silent'), poolSize: 1 }
  const service = stack.use(openDatabase({ ...common, url: database.urlFor(store) }))
  const admin = stack.use(openDatabase({ ...common, url: database.adminUrl, statementTimeoutMs: FILL_TIMEOUT_MS }))
  const running = stack.move()
  return {
    service,
    admin,
    async countReads(work) {
      await flush(service)
      await flush(admin)
      await admin.run((sql) => sql`select pg_stat_reset()`)
      await work()
      await flush(service)
      const [row] = await admin.run(
        (sql) => sql<RowsRead[]>`
          select sum(seq_tup_read)::bigint as sequential, sum(idx_tup_fetch)::bigint as fetched
          from pg_stat_user_tables
          where schemaname = ${store} and relname not in ('migrations', 'functions')
            and (${tables === undefined} or relname = any (${[...(tables ?? [])]}::text[]))`,
      )
      if (row === undefined) throw new Error('there are no statistics')
      return row
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** A connection buffers its counters for up to a second. Its next statement adds them to the statistics. */
async function flush(database: Database): Promise<void> {
  await database.run((sql) => sql`select pg_stat_force_next_flush()`)
  await database.run((sql) => sql`select 1`)
}
