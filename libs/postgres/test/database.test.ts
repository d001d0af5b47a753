import { ServiceError } from '@svc/contracts/errors.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DatabaseOptions, openDatabase, type Tx } from '../src/database.ts'
import { retryOnConflict } from '../src/errors.ts'

const logger = createLogger('test', 'silent')

let stored: TestDatabase
beforeAll(async () => {
  stored = await createTestDatabase([])
})
afterAll(() => stored[Symbol.asyncDispose]())

const open = (options: Partial<DatabaseOptions> = {}) =>
  openDatabase({ url: stored.adminUrl, application: 'test', logger, poolSize: 1, ...options })

const pidOf = (database: ReturnType<typeof open>) =>
  database.run(async (sql) => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0)

test('spec 3.17: a query whose connection is lost is unavailable, and the next one is not affected', async () => {
  await using database = open({ statementTimeoutMs: 60_000 })
  await using operator = open()
  const pid = await pidOf(database)
  const lost = expect(database.run((sql) => sql`select pg_sleep(60)`)).rejects.toMatchObject({ code: 'unavailable' })
  await eventually(async () => {
    const ended = await operator.run(
      (sql) => sql`
        select pg_terminate_backend(pid) from pg_stat_activity where pid = ${pid} and query like '%pg_sleep(60)%'`,
    )
    return ended.length === 1
  })
  await lost
  expect(await pidOf(database)).not.toBe(pid)
})

test('spec 3.17: a slow statement is cancelled and answered unavailable', async () => {
  await using database = open({ statementTimeoutMs: 1_000 })
  const error = await database.run((sql) => sql`select pg_sleep(60)`).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ServiceError)
  expect(error).toMatchObject({ code: 'unavailable' })
  // The connection still works.
  expect(await pidOf(database)).toBeGreaterThan(0)
})

test('an error in a statement is not an outage', async () => {
  await using database = open()
  await expect(database.run((sql) => sql`select 1 / 0`)).rejects.toMatchObject({ code: '22012' })
})

test('counts are numbers, and are never rounded', async () => {
  await using database = open()
  const read = (value: string) => database.run((sql) => sql`select ${value}::text::bigint as n`)
  expect(await read('9007199254740991')).toEqual([{ n: Number.MAX_SAFE_INTEGER }])
  await expect(read('9007199254740992')).rejects.toThrow(RangeError)
})

test('other statements run, even if many transactions wait for one row', async () => {
  const patient = { statementTimeoutMs: 60_000 }
  await using database = open({ ...patient, poolSize: 4 })
  await using other = open(patient)
  await database.run((sql) => sql`create table waited_for as select 1 as id`)
  const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = other.transaction(async (tx) => {
    await tx`select from waited_for for update`
    locked.resolve()
    await free.promise
  })
  await locked.promise
  const ended: string[] = []
  const waiting = Array.from({ length: 12 }, async () => {
    await database.transaction((tx) => tx`select from waited_for for update`)
    ended.push('waiting')
  })
  await eventually(async () => {
    const rows = await database.run(
      (sql) => sql`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%waited_for%'`,
    )
    return rows.length === 2
  })
  ended.push('other')
  free.resolve()
  await Promise.all([holding, ...waiting])
  expect(ended[0]).toBe('other')
  expect(ended).toHaveLength(13)
})

describe('conflicts between two transactions', () => {
  test.each(['40P01', '40001'])('%s is retried', async (code) => {
    await using database = open()
    let attempts = 0
    const work = () => {
      attempts += 1
      const text = `do $$ begin raise exception 'spoilt' using errcode = '${code}'; end $$`
      return attempts < 3 ? database.run((sql) => sql.unsafe(text)) : database.run((sql) => sql`select 1 as done`)
    }
    expect(await retryOnConflict(work)).toEqual([{ done: 1 }])
  })

  test('a conflict that repeats in every attempt is unavailable', async () => {
    await using database = open()
    const text = "do $$ begin raise exception 'spoilt' using errcode = '40001'; end $$"
    await expect(retryOnConflict(() => database.run((sql) => sql.unsafe(text)))).rejects.toMatchObject({
      code: 'unavailable',
    })
  })
})

test('the most recently used of the free connections is taken, because its plans and caches are warm', async () => {
  await using database = open({ poolSize: 4 })
  await Promise.all([1, 2, 3, 4].map(() => database.run((sql) => sql`select pg_sleep(0.1)`)))
  const pids: number[] = []
  for (let query = 0; query < 6; query += 1) pids.push(await pidOf(database))
  expect(new Set(pids).size).toBe(1)
})

describe('transactions of several statements', () => {
  test('start over if another transaction holds their lock, and let the next one begin meanwhile', async () => {
    await using database = open({ poolSize: 2 })
    await using other = open()
    const lock = (tx: Tx) => tx`select pg_advisory_xact_lock(1)`
    const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holder = other.transaction(async (tx) => {
      await lock(tx)
      held.resolve()
      await free.promise
    })
    await held.promise
    let attempts = 0
    const waiting = database.transaction((tx) => {
      attempts += 1
      return lock(tx)
    })
    await database.transaction((tx) => tx`select`)
    await eventually(() => attempts > 1)
    free.resolve()
    await Promise.all([holder, waiting])
  })

  test('are unavailable if they get no lock within the time of a statement', async () => {
    await using database = open({ poolSize: 2, statementTimeoutMs: 300 })
    await using other = open()
    await other.transaction(async (tx) => {
      await tx`select pg_advisory_xact_lock(2)`
      const waits = () => database.transaction((blocked) => blocked`select pg_advisory_xact_lock(2)`)
      const outcomes = await Promise.allSettled([waits(), waits(), waits()])
      for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'unavailable' } })
    })
  })
})
