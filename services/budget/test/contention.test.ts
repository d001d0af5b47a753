import { askedBy } from '@svc/contracts/admin.ts'
import * as calls from '@svc/contracts/budget.ts'
import { isDefinite, ServiceError } from '@svc/contracts/errors.ts'
import { type Bus, createBus } from '@svc/nats/bus.ts'
import { connectNats, drainNats, type Nats } from '@svc/nats/connect.ts'
import { listProcesses } from '@svc/nats/process-stats.ts'
import { openDatabase, type Sql } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun, startTestNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTestProcess } from '@svc/test/support/system/processes.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { releaseBatch } from '../src/store/release.ts'
import { reserveBatch } from '../src/store/reserve.ts'
import { settleBatch } from '../src/store/settle.ts'
import { newOperation } from './harness.ts'
import { listDays, listDiscrepancies } from './ledger.ts'

const PARALLEL = 50
/** Calls of one connection share a message, so one process gets them all. This many connections reach both processes. */
const CALLERS = 25
const logger = createLogger('test', 'silent')
const context = () => ({ traceparent: newTraceparent(), deadlineMs: Date.now() + 10_000 })

describe('two processes of the service', () => {
  const stack = new AsyncDisposableStack()
  const buses: Bus[] = []
  let sql: Sql
  let nats: Nats
  let operator: Bus
  let made = 0

  beforeAll(async () => {
    const run = await findTestRun()
    const database = stack.use(await createTestDatabase(['budget']))
    const server = stack.use(await startTestNats())
    const env = {
      SVC_NATS_URL: server.urlFor('budget'),
      SVC_DATABASE_URL: database.urlFor('budget'),
      SVC_DAILY_FREE_UNITS: '40',
      SVC_DAILY_HARD_LIMIT: '60',
      SVC_DAILY_INTRODUCTIONS: '10',
    }
    const processes = [1, 2].map((index) => startTestProcess({ service: 'budget', index, run, env }))
    stack.defer(async () => void (await Promise.all(processes.map((process) => process.stop()))))
    await Promise.all(processes.map((process) => process.untilReady()))
    for (let caller = 0; caller < CALLERS; caller += 1) {
      const caller = stack.adopt(await connectNats({ url: server.urlFor('gateway'), name: 'test', logger }), drainNats)
      buses.push(stack.use(createBus(caller)))
    }
    nats = stack.adopt(
      await connectNats({ url: server.urlFor('admin'), name: 'test', logger, asOperator: true }),
      drainNats,
    )
    operator = stack.use(createBus(nats))
    sql = stack.use(openDatabase({ url: database.urlFor('budget'), application: 'test', logger })).sql
  })
  afterAll(() => stack.disposeAsync())

  const newAgent = (): string => {
    made += 1
    return `Agent${'1'.repeat(35)}${String.fromCharCode(65 + Math.floor(made / 8))}${(made % 8) + 1}`
  }
  const callerAt = (at: number): Bus => {
    const bus = buses[at % CALLERS]
    if (bus === undefined) throw new Error('the test has no callers')
    return bus
  }
  const reserve = (at: number, request: { agent: string; operation?: string; units?: number; peer?: string }) => {
    const { agent, operation = newOperation(), units = 1, peer = null } = request
    return callerAt(at).call(
      calls.reserve,
      { operation, owner: 'messaging', agent_id: agent, units, introduction_peer: peer, hold_ms: 60_000 },
      context(),
    )
  }
  /** Retries while the answer is `unavailable`, which means that the decision still depends on operations under way. */
  const untilKnown = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error
      }
    }
  }
  /** Reserves and settles, like an owner. */
  const spend = async (at: number, request: Parameters<typeof reserve>[1]): Promise<void> => {
    const operation = newOperation()
    await untilKnown(() => reserve(at, { operation, ...request }))
    await untilKnown(() => callerAt(at).call(calls.settle, { operation }, context()))
  }
  const many = async (request: (at: number) => Parameters<typeof reserve>[1]): Promise<string[]> => {
    const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL }, (_, at) => spend(at, request(at))))
    return outcomes.map((outcome) => {
      if (outcome.status === 'fulfilled') return 'taken'
      return isDefinite(outcome.reason) ? outcome.reason.code : String(outcome.reason)
    })
  }
  const count = (outcomes: string[], wanted: string): number => outcomes.filter((one) => one === wanted).length
  const budget = (agent: string) => callerAt(0).call(calls.getBudget, { agent_id: agent }, context())
  const grant = (agent: string, units: number) =>
    operator.call(
      askedBy('admin', calls.grantCredits),
      { agent_id: agent, units, reference: agent, reason: 'test' },
      context(),
    )

  test('spec 11.3, 11.7: of 50 concurrent operations, exactly as many succeed as free units are left', async () => {
    const agent = newAgent()
    await spend(0, { agent, units: 23 })
    const outcomes = await many(() => ({ agent }))
    expect([count(outcomes, 'taken'), count(outcomes, 'budget_exhausted')]).toEqual([17, 33])
    expect(await budget(agent)).toMatchObject({ used_units: 40 })
  })

  test('spec 11.4: of 50 concurrent operations, exactly as many succeed as credits are left', async () => {
    const agent = newAgent()
    await grant(agent, 13)
    await spend(0, { agent, units: 40 })
    const outcomes = await many(() => ({ agent }))
    expect([count(outcomes, 'taken'), count(outcomes, 'budget_exhausted')]).toEqual([13, 37])
    expect(await budget(agent)).toMatchObject({ used_units: 53, credit_balance: 0 })
  })

  test('spec 11.3, 11.4, 11.7: of 50 concurrent operations, exactly as many succeed as fit under the hard ceiling, even with credits left', async () => {
    const agent = newAgent()
    await grant(agent, 1_000)
    const outcomes = await many(() => ({ agent, units: 7 }))
    expect([count(outcomes, 'taken'), count(outcomes, 'hard_limit_reached')]).toEqual([8, 42])
    expect(await budget(agent)).toMatchObject({ used_units: 56, credit_balance: 984 })
  })

  test('spec 11.5, 11.7: of 50 concurrent first contacts, exactly the 10 of a day succeed', async () => {
    const agent = newAgent()
    const peers = Array.from({ length: PARALLEL }, newAgent)
    const outcomes = await many((at) => ({ agent, peer: peers[at] ?? '' }))
    // 40 units are enough for 10 introductions, so no message is refused for lack of units.
    expect([count(outcomes, 'taken'), count(outcomes, 'introduction_limit_reached')]).toEqual([10, 40])
    expect(await budget(agent)).toMatchObject({ used_units: 10, used_introductions: 10 })
  })

  test('spec 11.5: 50 messages to one new agent are one introduction', async () => {
    const [agent, peer] = [newAgent(), newAgent()]
    const outcomes = await many(() => ({ agent, peer }))
    expect([count(outcomes, 'taken'), count(outcomes, 'budget_exhausted')]).toEqual([40, 10])
    expect(await budget(agent)).toMatchObject({ used_units: 40, used_introductions: 1 })
  })

  test('ADR 21: 50 attempts at one operation are one charge, each with its own deadline', async () => {
    const [agent, operation] = [newAgent(), newOperation()]
    const replies = await Promise.all(Array.from({ length: PARALLEL }, (_, at) => reserve(at, { agent, operation })))
    expect(new Set(replies.map((reply) => reply.deadline_ms)).size).toBe(PARALLEL)
    expect(await budget(agent)).toMatchObject({ used_units: 1 })
  })

  test('both processes took part, and the books add up', async () => {
    const requests = await eventually(async () => {
      const processes = await listProcesses(nats, ['budget'])
      return processes.length === 2 && processes.map(({ stats }) => stats?.calls ?? 0)
    })
    expect(Math.min(...requests)).toBeGreaterThan(0)
    expect(await listDiscrepancies(sql)).toEqual([])
  })
})

test('repeats of operations that are being settled wait for the settlement, and never deadlock', async () => {
  await using database = await createTestDatabase(['budget'])
  await using first = openDatabase({ url: database.urlFor('budget'), application: 'test', logger })
  await using second = openDatabase({ url: database.urlFor('budget'), application: 'test', logger })
  const allowances = { freeUnits: 10_000, hardLimit: 10_000, introductions: 3 }
  for (let round = 0; round < 100; round += 1) {
    const items = Array.from({ length: 20 }, (_, at) => ({
      operation: newOperation(),
      owner: 'messaging',
      agentId: `agent-${at}`,
      units: 1,
      introductionPeer: null,
      holdMs: 1_000,
    }))
    await reserveBatch(first.sql, allowances, items)
    const operations = items.map(({ operation }) => operation)
    // There are no retries here, so a deadlock would be thrown.
    const [repeated] = await Promise.all([
      reserveBatch(first.sql, allowances, items),
      settleBatch(second.sql, operations, false),
    ])
    for (const { outcome } of repeated) expect(['held', 'settled']).toContain(outcome)
  }
})

test('spec 11.1, 11.7: at midnight, under load, each day admits its allowance and every charge is on its own day', async () => {
  await using database = await createTestDatabase(['budget'])
  await using first = openDatabase({ url: database.urlFor('budget'), application: 'test', logger })
  await using second = openDatabase({ url: database.urlFor('budget'), application: 'test', logger })
  const allowances = { freeUnits: 60, hardLimit: 1000, introductions: 3 }
  const midnightMs = Date.parse('2026-11-21T00:00:00Z')
  const agents = ['a', 'b', 'c', 'd', 'e', 'f']
  const takenBy = new Map<string, number>()

  // Eight callers whose clocks differ by a few milliseconds, from 100 ms before midnight to 100 ms after.
  const run = async (sql: Sql, caller: number): Promise<void> => {
    for (let offsetMs = -100 + caller; offsetMs <= 100; offsetMs += 4) {
      const batch = agents.filter((_agent, at) => (at + offsetMs + caller) % 3 !== 0)
      const items = batch.map((agentId, at) => ({
        operation: newOperation(),
        owner: 'messaging',
        agentId,
        units: 1 + (at % 2),
        introductionPeer: `peer-${Math.abs(offsetMs) % 9}`,
        holdMs: 1_000,
      }))
      const reserved = await reserveBatch(sql, allowances, items, { at: new Date(midnightMs + offsetMs) })
      const taken = items.flatMap(({ operation, agentId }, at) => {
        const { outcome, deadlineMs = 0 } = reserved[at] ?? {}
        if (outcome !== 'taken') return []
        takenBy.set(agentId, (takenBy.get(agentId) ?? 0) + 1)
        return [{ operation, deadlineMs }]
      })
      // Most are settled, some are released, and some stay held.
      await settleBatch(
        sql,
        taken.filter((_item, at) => at % 4 < 2).map(({ operation }) => operation),
        false,
      )
      await releaseBatch(
        sql,
        taken.filter((_item, at) => at % 4 === 2),
      )
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, caller) => run(caller % 2 === 0 ? first.sql : second.sql, caller)))

  const days = await listDays(first.sql)
  expect(days.map(({ agentId, day }) => `${agentId} ${day - midnightMs / 86_400_000}`).sort()).toEqual(
    agents.flatMap((agent) => [`${agent} -1`, `${agent} 0`]),
  )
  for (const { units, introductions } of days) {
    expect(units).toBeLessThanOrEqual(allowances.freeUnits)
    expect(introductions).toBeLessThanOrEqual(allowances.introductions)
  }
  for (const agent of agents) expect(takenBy.get(agent)).toBeGreaterThan(0)
  expect(await listDiscrepancies(first.sql)).toEqual([])
})
