import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { openDatabase, type Sql } from '@svc/postgres/database.ts'
import { startChild } from '@svc/processes/child.ts'
import { markOf } from '@svc/processes/marks.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import { findTestRun, startTestNats, type TestNats } from '@svc/test/support/engines/engines.ts'
import type { TestRun } from '@svc/test/support/engines/nats/engine-broker.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTestProcess } from '@svc/test/support/system/processes.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PlannedOperation, startOwner } from './owner.ts'

const PROGRAM = fileURLToPath(new URL('./owner-process.ts', import.meta.url))
const RESOLVED_WITHIN_MS = 45_000

describe('ADR 21: killed between any two steps, there is no charge without its effect and no effect without its charge', () => {
  const stack = new AsyncDisposableStack()
  let database: TestDatabase
  let run: TestRun
  /** May read all schemas, unlike any process of the system. */
  let sql: Sql

  beforeAll(async () => {
    run = await findTestRun()
    database = stack.use(await createTestDatabase(['identity', 'budget']))
    const logger = createLogger('test', 'silent')
    sql = stack.use(openDatabase({ url: database.adminUrl, application: 'test', logger })).sql
    await sql`create table identity.effects (operation text primary key)`
    await sql`grant select, insert on identity.effects to identity`
  })
  afterAll(() => stack.disposeAsync())

  const startBudget = async (nats: TestNats, failpoints = '') => {
    const env = {
      SVC_NATS_URL: nats.urlFor('budget'),
      SVC_DATABASE_URL: database.urlFor('budget'),
      SVC_FAILPOINTS: failpoints,
    }
    const process = startTestProcess({ service: 'budget', run, env })
    await process.untilReady()
    return { ...process, [Symbol.asyncDispose]: async () => void (await process.stop()) }
  }
  /** Starts an owner in a process that a failpoint kills. @returns how the process ended. */
  const killOwner = async (nats: TestNats, plan: PlannedOperation[], env: NodeJS.ProcessEnv): Promise<string> => {
    const child = startChild({
      name: 'owner-1',
      command: process.execPath,
      args: [`--title=${markOf(run.mark, 'owner-1')}`, PROGRAM],
      env: {
        SVC_NATS_URL: nats.urlFor('identity'),
        SVC_DATABASE_URL: database.urlFor('identity'),
        OWNER_PLAN: JSON.stringify(plan),
        ...env,
      },
      onLine: () => {},
    })
    const { reason } = await child.ended
    return reason
  }
  /** Runs another owner in this process, until it has done its plan. */
  const goOn = async (nats: TestNats, plan: PlannedOperation[], purgeAfterMs?: number) => {
    const lines: string[] = []
    const settings = { natsUrl: nats.urlFor('identity'), databaseUrl: database.urlFor('identity'), plan, purgeAfterMs }
    const owner = await startOwner(settings, (line) => lines.push(line))
    return { lines, [Symbol.asyncDispose]: () => owner[Symbol.asyncDispose]() }
  }

  /**
   * Two operations that take effect, each beside an operation that is refused after its cost was reserved. Two of the four
   * operations introduce agents.
   */
  const newPlan = (): { agentId: string; plan: PlannedOperation[] } => {
    const agentId = newAgentId()
    const operation = () => `identity:${randomBytes(8).toString('hex')}`
    return {
      agentId,
      plan: [
        { operation: operation(), agentId, peer: newAgentId(), refused: false },
        { operation: operation(), agentId, peer: newAgentId(), refused: true },
        { operation: operation(), agentId, peer: null, refused: false },
        { operation: operation(), agentId, peer: null, refused: true },
      ],
    }
  }
  const untilResolved = (agentId: string) =>
    eventually(
      async () => {
        const held = await sql`select from budget.reservations where agent_id = ${agentId} and state = 'held'`
        return held.length === 0
      },
      { timeoutMs: RESOLVED_WITHIN_MS, what: 'every reservation being settled or released' },
    )
  /** @returns how many operations took effect. */
  const expectBooksToMatch = async (agentId: string, plan: PlannedOperation[]): Promise<number> => {
    const ids = plan.map(({ operation }) => operation)
    const effects = await sql<{ operation: string }[]>`
      select operation from identity.effects where operation = any(${ids}::text[])`
    const charges = await sql<{ operation: string; introduction_peer: string | null }[]>`
      select operation, introduction_peer from budget.reservations where agent_id = ${agentId} and state = 'settled'`
    const operationsOf = (rows: readonly { operation: string }[]) => rows.map(({ operation }) => operation).sort()
    expect(operationsOf(charges)).toEqual(operationsOf(effects))
    const introduced = charges.filter((charge) => charge.introduction_peer !== null).length
    const accounts = await sql`select used_units, used_introductions from budget.accounts where agent_id = ${agentId}`
    const used = { used_units: effects.length, used_introductions: introduced }
    expect(accounts.length === 0 ? { used_units: 0, used_introductions: 0 } : accounts[0]).toEqual(used)
    return effects.length
  }

  describe('the owner', () => {
    let nats: TestNats
    beforeAll(async () => {
      nats = stack.use(await startTestNats())
      stack.use(await startBudget(nats))
    })

    test.each([
      ['charging.identity.reserved', 1],
      ['charging.identity.reserved', 2],
      ['owner.committing', 1],
      ['owner.committing', 2],
      ['charging.identity.committed', 1],
      ['charging.identity.committed', 2],
      ['charging.identity.settled', 1],
      ['charging.identity.fenced', 1],
      ['charging.identity.resolved', 1],
    ])('killed at %s, time %i; another process resolves, and a repeat takes effect once', async (point, time) => {
      const { agentId, plan } = newPlan()
      expect(await killOwner(nats, plan, { SVC_FAILPOINTS: `${point}=kill@${time}` })).toBe('signal SIGKILL')

      await using _second = await goOn(nats, [])
      await untilResolved(agentId)
      await expectBooksToMatch(agentId, plan)

      await using third = await goOn(nats, plan)
      await untilResolved(agentId)
      expect(await expectBooksToMatch(agentId, plan)).toBe(2)
      expect(third.lines).toEqual([
        expect.stringMatching(/ (committed|duplicate)$/),
        expect.stringMatching(/ forbidden$/),
        expect.stringMatching(/ (committed|duplicate)$/),
        expect.stringMatching(/ forbidden$/),
        'idle',
      ])
    })

    test.each(['charging.identity.fenced', 'charging.identity.resolved'])(
      'killed at %s while it resolves the remains of another process',
      async (point) => {
        const { agentId, plan } = newPlan()
        await killOwner(nats, plan, { SVC_FAILPOINTS: 'charging.identity.committed=kill@1' })
        expect(await killOwner(nats, [], { SVC_FAILPOINTS: `${point}=kill` })).toBe('signal SIGKILL')
        await using _third = await goOn(nats, [])
        await untilResolved(agentId)
        expect(await expectBooksToMatch(agentId, plan)).toBe(1)
      },
    )

    test('killed in the purge, after budget has confirmed: charges are kept, and the next purge removes the records', async () => {
      const { agentId, plan } = newPlan()
      await using _first = await goOn(nats, plan)
      const ids = plan.map(({ operation }) => operation)
      const recorded = () => sql`select from identity.operations where id = any(${ids}::text[])`
      await sql`update identity.operations set deadline_ms = deadline_ms - 60000 where id = any(${ids}::text[])`
      const purging = { OWNER_PURGE_AFTER_MS: '30000', SVC_FAILPOINTS: 'charging.identity.confirmed=kill' }
      expect(await killOwner(nats, [], purging)).toBe('signal SIGKILL')
      expect(await recorded()).toHaveLength(2)
      await using _third = await goOn(nats, [], 30_000)
      await eventually(async () => (await recorded()).length === 0)
      expect(await expectBooksToMatch(agentId, plan)).toBe(2)
    })

    test('several processes that resolve the same operations at once have the effect of one', async () => {
      const { agentId, plan } = newPlan()
      await killOwner(nats, plan, { SVC_FAILPOINTS: 'charging.identity.committed=kill@1' })
      const [second, third] = await Promise.all([goOn(nats, []), goOn(nats, [])])
      await using _ = second
      await using _third = third
      await untilResolved(agentId)
      expect(await expectBooksToMatch(agentId, plan)).toBe(1)
    })
  })

  test.each([
    ['budget.reserved', 1],
    ['budget.reserved', 2],
    ['budget.settled', 1],
    ['budget.released', 1],
  ])('budget killed at %s, time %i', async (point, time) => {
    const { agentId, plan } = newPlan()
    await using nats = await startTestNats()
    await using first = await startBudget(nats, `${point}=kill@${time}`)
    const going = goOn(nats, plan)
    expect(await first.ended).toMatchObject({ reason: 'signal SIGKILL' })
    await using _second = await startBudget(nats)
    await using _owner = await going
    await untilResolved(agentId)
    expect(await expectBooksToMatch(agentId, plan)).toBe(2)
  })
})

function newAgentId(): string {
  const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZ'
  return Array.from(randomBytes(43), (byte) => digits[byte % digits.length]).join('')
}
