import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '../src/database.ts'
import { runReport } from '../src/report.ts'

let testDatabase: TestDatabase
let database: Database

beforeAll(async () => {
  testDatabase = await createTestDatabase(['stream'])
  const logger = createLogger('test', 'silent')
  database = openDatabase({ url: testDatabase.urlFor('stream'), application: 'test', logger, poolSize: 1 })
})
afterAll(async () => {
  await database?.[Symbol.asyncDispose]()
  await testDatabase?.[Symbol.asyncDispose]()
})

test('a report has its own time limit and plans, and the connection is reset afterwards', async () => {
  const settings = () =>
    database.run(
      (sql) => sql`select current_setting('statement_timeout') as timeout, current_setting('enable_seqscan') as scan`,
    )
  const [before] = await settings()
  const [during] = await runReport(
    database,
    (tx) => tx`select current_setting('statement_timeout') as timeout, current_setting('enable_seqscan') as scan`,
  )
  expect(during).toEqual({ timeout: '55s', scan: 'on' })
  expect((await settings())[0]).toEqual(before)
  expect(before).not.toEqual(during)
})

test('a report changes nothing', async () => {
  await expect(runReport(database, (tx) => tx`delete from stream.leases`)).rejects.toMatchObject({ code: '25006' })
  expect(await database.run((sql) => sql`select 1 as one`)).toMatchObject([{ one: 1 }])
})

test('a report sees one snapshot', async () => {
  const logger = createLogger('test', 'silent')
  await using other = openDatabase({ url: testDatabase.urlFor('stream'), application: 'test', logger, poolSize: 1 })
  const count = (rows: { count: number }[]): number => rows[0]?.count ?? -1
  const [first, second] = await runReport(database, async (tx) => {
    const before = count(await tx`select count(*) as count from stream.processes`)
    await other.run(
      (sql) => sql`
      insert into stream.processes (id, room, seen_at) values ('x', 1, now()) on conflict do nothing`,
    )
    return [before, count(await tx`select count(*) as count from stream.processes`)]
  })
  expect(second).toBe(first)
  expect(count(await database.run((sql) => sql`select count(*) as count from stream.processes`))).toBe((first ?? 0) + 1)
})

test('a report that the database ends is unavailable, and may be repeated', async () => {
  await expect(
    runReport(database, async (tx) => {
      await tx`select set_config('statement_timeout', '50ms', true)`
      return tx`select pg_sleep(5)`
    }),
  ).rejects.toMatchObject({ code: 'unavailable' })
})
