/** The whole system behind PgBouncer in transaction mode, where the statements of one connection run in different sessions. */
import { STORES } from '@svc/local/topology.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { runReport } from '@svc/postgres/report.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { svc } from '../../clients/cli/test/run.ts'
import { got } from '../support/client/answers.ts'
import { newBoard, subscribe } from '../support/client/boards.ts'
import { idsOf, readList } from '../support/client/pages.ts'
import { startSenders } from '../support/client/senders.ts'
import { createTestDatabase } from '../support/engines/database.ts'
import { NO_PGBOUNCER, startPgBouncer } from '../support/engines/postgres/pgbouncer.ts'
import { lacks } from '../support/run/lacks.ts'
import { findWrongBooks, untilResolved } from '../support/system/books.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'

describe.skipIf(lacks(NO_PGBOUNCER))('PgBouncer in transaction mode', () => {
  let h: Harness
  let pooler: Awaited<ReturnType<typeof startPgBouncer>>
  let admin: postgres.Sql
  let pool: Database

  beforeAll(async () => {
    const database = await createTestDatabase(STORES)
    pooler = await startPgBouncer(STORES.map((store) => database.urlFor(store)))
    h = await startHarness({ replicas: ONE_OF_EACH, database, databaseUrl })
    admin = postgres(database.adminUrl, { max: 2, onnotice: () => {} })
    const url = pooler.through(database.urlFor('messaging'))
    pool = openDatabase({ url, application: 'test', logger: createLogger('test', 'silent'), poolSize: 8 })
  })
  afterAll(async () => {
    await pool?.[Symbol.asyncDispose]()
    await admin?.end()
    await h?.[Symbol.asyncDispose]()
    await pooler?.[Symbol.asyncDispose]()
  })

  /** Half of the services have the form of Prisma and of Neon. */
  function databaseUrl(url: string, name: string): string {
    const pooled = pooler.through(url)
    return /^[bi]/.test(name) ? pooled.replace('pooler=transaction', 'pgbouncer=true&connect_timeout=15') : pooled
  }

  const settings = (): Promise<unknown[]> =>
    Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        pool.run(
          (sql) => sql`
            select current_setting('statement_timeout') as timeout, current_setting('plan_cache_mode') as plans,
              current_setting('lock_timeout') as patience, ${at}::int as number, pg_sleep(0.005) is null as slept`,
        ),
      ),
    )

  test('every session has the settings of its role, even beside transactions and reports that set their own', async () => {
    const work = [
      ...Array.from({ length: 8 }, () => pool.transaction((tx) => tx`select pg_sleep(0.01)`)),
      runReport(pool, (tx) => tx`select pg_sleep(0.01)`),
    ]
    const expected = { timeout: '4s', plans: 'force_generic_plan', patience: '0' }
    const found = (await settings()) as object[][]
    expect(found.map(([row]) => row)).toMatchObject(
      Array.from({ length: 24 }, (_, number) => ({ ...expected, number })),
    )
    await Promise.all(work)
    const sessions = await admin`
      select from pg_stat_activity where datname = current_database() and usename = 'messaging'`
    expect(sessions.length).toBeLessThanOrEqual(3)
  })

  test('the services send, post, page and export through it, before and after it is killed', async () => {
    const [anna, ben, carl] = await h.agents(3)
    await got(ben.patch('/v2/me', { inbox_policy: 'open' }))
    const board = await newBoard(anna)
    await subscribe(ben, board)
    const senders = startSenders([
      [anna, ben],
      [carl, ben],
    ])
    await got(anna.send(`board:${board}`, 'a post'))
    await senders.untilEachAccepted()
    await pooler.restart()
    await senders.untilEachAccepted()
    await senders.stop()
    const accepted = [...senders.accepted.values()].flat()
    expect(idsOf(await readList(ben, '/v2/inbox?lane=inbox&limit=100')).toSorted()).toEqual(accepted.toSorted())
    const exported = await readList(anna, '/v2/export')
    expect(idsOf(exported)).toEqual(expect.arrayContaining([...(senders.accepted.get(anna) ?? [])]))
  })

  test('no advisory lock outlives its transaction, and the books agree', async () => {
    await untilResolved(admin)
    expect(
      await admin`select from pg_locks where locktype = 'advisory' and database = (
      select oid from pg_database where datname = current_database())`,
    ).toHaveLength(0)
    expect(await findWrongBooks(admin)).toEqual([])
    const verified = await svc(['admin', 'verify'], { env: { SVC_NATS_URL: h.system.nats.urlFor('admin') } })
    expect(verified).toMatchObject({ exitCode: 0, stderr: '' })
  })
})
