import { randomBytes } from 'node:crypto'
import { ServiceError } from '@svc/contracts/errors.ts'
import { type Database, openDatabase, type Sql } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOperations, type Operations } from '../src/operations.ts'

const MINUTE_MS = 60_000

describe('the record of operations (ADR 21)', () => {
  const stack = new AsyncDisposableStack()
  let database: Database
  let operations: Operations

  beforeAll(async () => {
    const testDatabase = stack.use(await createTestDatabase(['identity']))
    const logger = createLogger('test', 'silent')
    database = stack.use(
      openDatabase({ url: testDatabase.urlFor('identity'), application: 'test', logger, poolSize: 20 }),
    )
    operations = createOperations({ database, schema: 'identity' })
  })
  afterAll(() => stack.disposeAsync())

  const newAttempt = (deadlineMs = Date.now() + MINUTE_MS) => ({
    operation: `test:${randomBytes(6).toString('hex')}`,
    deadlineMs,
  })
  const commit = (operation: string, deadlineMs: number) =>
    database.transaction((tx) => operations.commit(tx, { operation, deadlineMs }))
  const fence = async (operation: string, deadlineMs: number) =>
    (await operations.fence([{ operation, deadlineMs }]))[0]

  /** A transaction that has recorded the operation, and waits before it commits. */
  const openCommit = async (operation: string, deadlineMs: number) => {
    const arrived = Promise.withResolvers<string>()
    const decided = Promise.withResolvers<'commit' | 'roll back'>()
    const done = database
      .transaction(async (tx) => {
        arrived.resolve(await operations.commit(tx, { operation, deadlineMs }))
        if ((await decided.promise) === 'roll back') throw new Error('rolled back')
      })
      .catch((error: unknown) => arrived.reject(error))
    await arrived.promise
    return async (end: 'commit' | 'roll back') => {
      decided.resolve(end)
      await done
    }
  }
  const untilSomebodyWaits = () =>
    eventually(async () => {
      const rows = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return rows.length > 0
    })

  test('a second attempt learns that the operation is done', async () => {
    const { operation, deadlineMs } = newAttempt()
    expect(await commit(operation, deadlineMs)).toBe('committed')
    expect(await commit(operation, deadlineMs)).toBe('duplicate')
    expect(await commit(operation, deadlineMs + 1)).toBe('duplicate')
    expect(await commit(operation, Date.now() - MINUTE_MS)).toBe('duplicate')
    expect(await fence(operation, deadlineMs)).toBe(true)
    expect(await fence(operation, deadlineMs + MINUTE_MS)).toBe(true)
  })

  test('a fence ends the attempts up to its deadline and no later one; a lower fence changes nothing', async () => {
    const { operation, deadlineMs } = newAttempt()
    expect(await fence(operation, deadlineMs)).toBe(false)
    expect(await fence(operation, deadlineMs - 1_000)).toBe(false)
    for (const early of [0, 1, 999])
      await expect(commit(operation, deadlineMs - early)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await commit(operation, deadlineMs + 1)).toBe('committed')
    expect(await fence(operation, deadlineMs)).toBe(true)
  })

  test('an attempt past its deadline does not commit', async () => {
    const { operation, deadlineMs } = newAttempt(Date.now() - 1_000)
    await expect(commit(operation, deadlineMs)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await fence(operation, deadlineMs)).toBe(false)
  })

  test.each([
    ['commit', true],
    ['roll back', false],
  ] as const)(
    'a fence that meets a commit in flight does not wait and knows nothing; the others get their answers: %s',
    async (end, committed) => {
      const { operation, deadlineMs } = newAttempt()
      const finish = await openCommit(operation, deadlineMs)
      expect(await fence(operation, deadlineMs)).toBeUndefined()
      const [other, done] = [newAttempt(), newAttempt()]
      await commit(done.operation, done.deadlineMs)
      expect(await operations.fence([other, { operation, deadlineMs }, done])).toEqual([false, undefined, true])
      await finish(end)
      expect(await fence(operation, deadlineMs)).toBe(committed)
      const again = commit(operation, deadlineMs)
      if (committed) expect(await again).toBe('duplicate')
      else await expect(again).rejects.toMatchObject({ code: 'unavailable' })
    },
  )

  test.each([
    ['commit', 'duplicate'],
    ['roll back', 'committed'],
  ] as const)('a commit that meets another one waits: if that one does %s, it is %s', async (end, outcome) => {
    const { operation, deadlineMs } = newAttempt()
    const finish = await openCommit(operation, deadlineMs)
    const second = commit(operation, deadlineMs + 1)
    await untilSomebodyWaits()
    await finish(end)
    expect(await second).toBe(outcome)
  })

  test.each([
    ['commit', 0, 'unavailable'],
    ['commit', 1, 'committed'],
    ['rollback', 0, 'committed'],
  ])('a commit that meets a fence in flight waits: %s, %i ms later: %s', async (end, later, outcome) => {
    const { operation, deadlineMs } = newAttempt()
    const fenced = Promise.withResolvers<void>()
    const decided = Promise.withResolvers<void>()
    const fencing = database.sql
      .begin(async (tx) => {
        const inTransaction = {
          ...database,
          run: <T>(work: (sql: Sql) => PromiseLike<T>) => work(tx as unknown as Sql),
        }
        const open = createOperations({ database: inTransaction as Database, schema: 'identity' })
        expect(await open.fence([{ operation, deadlineMs }])).toEqual([false])
        fenced.resolve()
        await decided.promise
        if (end === 'rollback') throw new RolledBack()
      })
      .catch((error: unknown) => expect(error).toBeInstanceOf(RolledBack))
    await fenced.promise
    const attempt = commit(operation, deadlineMs + later).catch((error: ServiceError) => error.code)
    await untilSomebodyWaits()
    decided.resolve()
    await fencing
    expect(await attempt).toBe(outcome)
  })

  test('fences of the same operations in opposite orders never deadlock', async () => {
    const items = Array.from({ length: 50 }, () => newAttempt())
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => operations.fence(at % 2 === 0 ? items : items.toReversed())),
    )
    for (const answer of answers.flat()) expect(answer ?? false).toBe(false)
    expect(await operations.fence(items)).toEqual(items.map(() => false))
  })

  test('in any order of events: one commit at most, no commit after a "no", no "yes" without a commit', async () => {
    const names = Array.from({ length: 20 }, () => newAttempt().operation)
    const baseMs = Date.now() + MINUTE_MS
    type Result = 'committed' | 'duplicate' | 'refused' | 'rolled back' | boolean | undefined
    const answers: { operation: string; deadlineMs: number; result: Result }[] = []
    const worker = async (seed: number): Promise<void> => {
      for (let turn = 0; turn < 60; turn += 1) {
        const operation = names[(seed * 7 + turn * 3) % names.length] ?? ''
        const deadlineMs = baseMs + ((seed * 31 + turn * 17) % 40) + turn
        const result =
          (seed + turn) % 3 === 0
            ? await fence(operation, deadlineMs)
            : await attempt(operation, deadlineMs, turn % 4 === 0)
        answers.push({ operation, deadlineMs, result })
      }
    }
    const attempt = async (operation: string, deadlineMs: number, rollBack: boolean): Promise<Result> => {
      try {
        return await database.transaction(async (tx) => {
          const outcome = await operations.commit(tx, { operation, deadlineMs })
          if (rollBack) throw new RolledBack()
          return outcome
        })
      } catch (error) {
        if (error instanceof RolledBack) return 'rolled back'
        if (error instanceof ServiceError) return 'refused'
        throw error
      }
    }
    await Promise.all(Array.from({ length: 12 }, (_, seed) => worker(seed)))

    const seen = new Set(answers.map(({ result }) => result).filter((result) => result !== undefined))
    expect(seen).toEqual(new Set(['committed', 'duplicate', 'refused', 'rolled back', true, false]))
    for (const operation of names) {
      const own = answers.filter((answer) => answer.operation === operation)
      const [done, ...more] = own.filter(({ result }) => result === 'committed')
      expect(more).toEqual([])
      for (const { result, deadlineMs } of own) {
        // If an attempt had committed before the fence, the answer would be yes. After the fence, such an attempt is
        // refused.
        if (result === false && done !== undefined) expect(done.deadlineMs).toBeGreaterThan(deadlineMs)
        if (result === true || result === 'duplicate') expect(done).toBeDefined()
      }
    }
  })

  test('the purge removes the named committed operations, and fences long past their deadline', async () => {
    const old = Date.now() - 10 * MINUTE_MS
    const [committed, fenced, young] = [newAttempt(), newAttempt(old), newAttempt()]
    await commit(committed.operation, committed.deadlineMs)
    await fence(fenced.operation, fenced.deadlineMs)
    await fence(young.operation, young.deadlineMs)
    await database.sql`update identity.operations set deadline_ms = ${old} where id = ${committed.operation}`
    expect(await operations.listCommitted(11 * MINUTE_MS, 10)).toEqual([])
    expect(await operations.listCommitted(9 * MINUTE_MS, 10)).toEqual([committed.operation])
    expect(await operations.removeFences(11 * MINUTE_MS, 10)).toBe(0)
    expect(await operations.removeFences(9 * MINUTE_MS, 10)).toBeGreaterThan(0)
    await operations.remove([committed.operation, young.operation])
    const left = await database.sql<{ id: string }[]>`
      select id from identity.operations where id = any(${[committed, fenced, young].map((one) => one.operation)}::text[])`
    expect(left.map(({ id }) => id)).toEqual([young.operation])
  })
})

class RolledBack extends Error {
  override name = 'RolledBack'
}
