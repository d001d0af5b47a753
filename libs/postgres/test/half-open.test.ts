/** Network faults other than a closed connection, on a link that the test controls (test/faults/proxy). */
import { createLogger } from '@svc/telemetry/logger.ts'
import { type Link, startLink } from '@svc/test/faults/proxy/link.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, type DatabaseOptions, MAX_UNDER_WAY, openDatabase } from '../src/database.ts'

const logger = createLogger('test', 'silent')
const POOL = 4
const STATEMENT_MS = 1_500
/** The client's deadline is 0.5 s after the server's. Queries that waited for each other would take three times as long. */
const GIVEN_UP_MS = (STATEMENT_MS + 500) * 2.5

let stored: TestDatabase
let link: Link
let stack: AsyncDisposableStack
beforeAll(async () => {
  stored = await createTestDatabase([])
})
afterAll(() => stored[Symbol.asyncDispose]())
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  link = stack.use(await startLink())
})
afterEach(() => stack.disposeAsync())

function open(options: Partial<DatabaseOptions> = {}): Database {
  const url = link.through(stored.adminUrl)
  return stack.use(
    openDatabase({ url, application: 'test', logger, poolSize: POOL, statementTimeoutMs: STATEMENT_MS, ...options }),
  )
}

const ask = async (database: Database): Promise<string> => {
  try {
    await database.run((sql) => sql`select pg_sleep(0.005)`)
    return 'answered'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

const askAll = (database: Database, count = POOL * 3): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => ask(database)))

// If this process pauses for as long as a statement may take, the connection looks lost. So retry; a real fault fails every time.
describe('spec 3.17: never a hang', { retry: 2 }, () => {
  test.each(['to-server', 'to-client'] as const)(
    'half-open connections (%s) are given up with the first unanswered query',
    async (direction) => {
      const database = open()
      expect(new Set(await askAll(database))).toEqual(new Set(['answered']))
      // Silence the connections that exist now, but not those that are made later.
      for (const connection of link.connections) connection.hold(direction)
      const begun = performance.now()
      expect(new Set(await askAll(database))).toEqual(new Set(['unavailable']))
      expect(performance.now() - begun).toBeLessThan(GIVEN_UP_MS)
      expect(new Set(await askAll(database))).toEqual(new Set(['answered']))
    },
  )

  test('a half-open connection fails only its own queries', async () => {
    const database = open()
    await askAll(database)
    const [connection] = link.connections
    connection?.hold()
    const outcomes = await askAll(database)
    expect(new Set(outcomes)).toEqual(new Set(['answered', 'unavailable']))
    expect(new Set(await askAll(database))).toEqual(new Set(['answered']))
  })

  test('if no connection can be opened either, each query is unavailable in time, and the first one afterwards is answered', async () => {
    const database = open()
    await askAll(database)
    link.hold()
    expect(new Set(await askAll(database))).toEqual(new Set(['unavailable']))
    const begun = performance.now()
    expect(new Set(await askAll(database))).toEqual(new Set(['unavailable']))
    expect(performance.now() - begun).toBeLessThan(GIVEN_UP_MS)
    await link.heal()
    expect(new Set(await askAll(database))).toEqual(new Set(['answered']))
  })

  test('the queue for an unreachable database is bounded, and past the bound queries are unavailable at once', async () => {
    const database = open()
    await askAll(database)
    link.hold()
    let late = 0
    const waiting = Array.from({ length: MAX_UNDER_WAY }, () => ask(database).finally(() => (late += 1)))
    expect(await ask(database)).toBe('unavailable')
    expect(late).toBe(0)
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unavailable']))
    await link.heal()
    await eventually(async () => (await ask(database)) === 'answered')
  })

  test('if every connection is always busy, waiting work gets its turn, transactions too', async () => {
    const database = open()
    const outcomes = new Set<string>()
    const untilMs = performance.now() + GIVEN_UP_MS
    const load = Array.from({ length: POOL * 4 }, async () => {
      while (performance.now() < untilMs) outcomes.add(await ask(database))
    })
    const transactions = Array.from({ length: POOL }, async () => {
      while (performance.now() < untilMs) await database.transaction((tx) => tx`select 1`)
    })
    await Promise.all([...load, ...transactions])
    expect([...outcomes]).toEqual(['answered'])
  })

  test('a transaction whose connection was lost between two statements does nothing more, not even on another connection', async () => {
    const database = open({ poolSize: 1, statementTimeoutMs: 4_000 })
    await database.run((sql) => sql`create table effects (id integer)`)
    const work = database.transaction(async (tx) => {
      await tx`insert into effects values (1)`
      link.reset()
      // Other queries reopen the connection, which no longer belongs to the transaction.
      await eventually(async () => (await ask(database)) === 'answered')
      await tx`insert into effects values (2)`
    })
    await expect(work).rejects.toMatchObject({ code: 'unavailable' })
    await eventually(async () => (await ask(database)) === 'answered')
    expect(await database.run((sql) => sql`select id from effects`)).toEqual([])
  })

  test('all connections reset under load: new ones work at once', async () => {
    const database = open()
    let stopped = false
    const outcomes = new Set<string>()
    const load = Array.from({ length: POOL * 4 }, async () => {
      while (!stopped) outcomes.add(await ask(database))
    })
    for (let round = 0; round < 3; round += 1) {
      link.reset()
      const begun = performance.now()
      await eventually(async () => (await ask(database)) === 'answered')
      expect(performance.now() - begun).toBeLessThan(10_000)
    }
    stopped = true
    await Promise.all(load)
    expect([...outcomes].toSorted()).toEqual(['answered', 'unavailable'])
  })
})
