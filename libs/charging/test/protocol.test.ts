import { randomBytes } from 'node:crypto'
import { getBudget } from '@svc/contracts/budget.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { type Bus, createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun, startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTestProcess, type TestProcess } from '@svc/test/support/system/processes.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Charging, createCharging } from '../src/charging.ts'
import type { Reservation } from '../src/fences.ts'
import { createOperations, type Operations } from '../src/operations.ts'

describe('ADR 21: concurrent attempts at one operation', () => {
  const stack = new AsyncDisposableStack()
  let testDatabase: TestDatabase
  let database: Database
  let operations: Operations
  let bus: Bus
  let budget: TestProcess
  /** Two processes of the owner. */
  let first: Charging
  let second: Charging

  beforeAll(async () => {
    const run = await findTestRun()
    const logger = createLogger('test', 'silent')
    testDatabase = stack.use(await createTestDatabase(['identity', 'budget']))
    const server = stack.use(await startTestNats())
    const env = { SVC_NATS_URL: server.urlFor('budget'), SVC_DATABASE_URL: testDatabase.urlFor('budget') }
    budget = startTestProcess({ service: 'budget', run, env })
    stack.defer(async () => void (await budget.stop()))
    await budget.untilReady()
    database = stack.use(openDatabase({ url: testDatabase.urlFor('identity'), application: 'test', logger }))
    operations = createOperations({ database, schema: 'identity' })
    const nats = stack.adopt(await connectNats({ url: server.urlFor('gateway'), name: 'test', logger }), drainNats)
    bus = stack.use(createBus(nats))
    const deps = { owner: 'identity', bus, logger, fences: operations } as const
    first = createCharging(deps)
    second = createCharging(deps)
  })
  afterAll(() => stack.disposeAsync())

  const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 })
  const newCost = () => ({
    operation: `identity:${randomBytes(8).toString('hex')}`,
    agentId: Array.from(randomBytes(43), (byte) => '123456789ABCDEF'[byte % 15]).join(''),
    units: 3,
    introductionPeer: null,
  })
  const used = async ({ agentId }: { agentId: string }) =>
    (await bus.call(getBudget, { agent_id: agentId }, context())).used_units
  const commit = (reservation: Reservation) => database.transaction((tx) => operations.commit(tx, reservation))
  const untilSettled = async ({ operation }: { operation: string }) => {
    await using admin = openDatabase({
      url: testDatabase.adminUrl,
      application: 'test',
      logger: createLogger('test', 'silent'),
    })
    await eventually(async () => {
      const [row] = await admin.sql`select state from budget.reservations where operation = ${operation}`
      return row?.state === 'settled'
    })
  }
  /** An attempt that pauses between its reservation and its commit. */
  const pausedAttempt = async (charging: Charging, cost: ReturnType<typeof newCost>) => {
    const reserved = Promise.withResolvers<Reservation>()
    const resumed = Promise.withResolvers<void>()
    const outcome = charging
      .charge(cost, context(), async (reservation) => {
        reserved.resolve(reservation)
        await resumed.promise
        return commit(reservation)
      })
      .catch((error: ServiceError) => error.code)
    const reservation = await reserved.promise
    return {
      reservation,
      resume: () => {
        resumed.resolve()
        return outcome
      },
    }
  }

  test('an abandoned attempt can never commit, whatever the clocks say; a repeat is charged and takes effect', async () => {
    const cost = newCost()
    const paused = await pausedAttempt(first, cost)
    expect(await used(cost)).toBe(3)
    await second.abandon(paused.reservation, context())
    expect(await used(cost)).toBe(0)
    expect(paused.reservation.deadlineMs).toBeGreaterThan(Date.now())
    expect(await paused.resume()).toBe('unavailable')
    expect(await second.charge(cost, context(), commit)).toBe('committed')
    await untilSettled(cost)
    expect(await used(cost)).toBe(3)
  })

  test('a failed attempt does not release the reservation of a later one', async () => {
    const cost = newCost()
    const paused = await pausedAttempt(second, cost)
    const early = await pausedAttempt(first, cost)
    const later = await pausedAttempt(second, cost)
    await first.abandon(early.reservation, context())
    expect(await used(cost)).toBe(3)
    expect(await paused.resume()).toBe('unavailable')
    expect(await early.resume()).toBe('unavailable')
    expect(await later.resume()).toBe('committed')
    await untilSettled(cost)
    expect(await used(cost)).toBe(3)
  })

  test('a later attempt that fails ends the earlier ones, or finds that one of them is committed', async () => {
    const cost = newCost()
    const early = await pausedAttempt(first, cost)
    const refusal = second.charge(cost, context(), () => Promise.reject(new ServiceError('forbidden')))
    await expect(refusal).rejects.toMatchObject({ code: 'forbidden' })
    expect(await used(cost)).toBe(0)
    expect(await early.resume()).toBe('unavailable')

    const other = newCost()
    const done = await pausedAttempt(first, other)
    const late = await pausedAttempt(second, other)
    expect(await done.resume()).toBe('committed')
    await second.abandon(late.reservation, context())
    expect(await late.resume()).toBe('duplicate')
    expect(await used(other)).toBe(3)
  })

  test('20 concurrent attempts take effect once and are charged once', async () => {
    const cost = newCost()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? first : second).charge(cost, context(), commit)),
    )
    expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(1)
    await untilSettled(cost)
    expect(await used(cost)).toBe(3)
    expect(await first.charge(cost, context(), commit)).toBe('duplicate')
    expect(await used(cost)).toBe(3)
  })

  test('while budget is down, a paid operation is refused at once and not done', async () => {
    await budget.stop()
    const cost = newCost()
    const patient = { ...context(), deadlineMs: Date.now() + 3_600_000 }
    await expect(first.charge(cost, patient, commit)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await operations.fence([{ operation: cost.operation, deadlineMs: 1 }])).toEqual([false])
  })
})
