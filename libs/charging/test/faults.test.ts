import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Ending } from '@svc/local/child.ts'
import { startChild } from '@svc/local/child.ts'
import { type Mark, markOf } from '@svc/local/marks.ts'
import { openDatabase, type Sql } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/database.ts'
import { findTestRun, startTestNats, type TestNats } from '@svc/test/support/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { startTestProcess } from '@svc/test/support/processes.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlannedOperation } from './owner-process.ts'

const PROGRAM = fileURLToPath(new URL('./owner-process.ts', import.meta.url))
const RESOLVED_WITHIN_MS = 45_000

describe('ADR 21: killed between any two steps, neither a charge without its effect nor an effect without its charge', () => {
  const stack = new AsyncDisposableStack()
  let database: TestDatabase
  let mark: Mark
  /** Sees everything; no process of the system does. */
  let sql: Sql

  beforeAll(async () => {
    mark = (await findTestRun()).mark
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
    const process = startTestProcess({ service: 'budget', mark, env })
    await process.untilReady()
    return { ...process, [Symbol.asyncDispose]: async () => void (await process.stop()) }
  }
  const startOwner = (nats: TestNats, plan: PlannedOperation[], env: NodeJS.ProcessEnv = {}) => {
    const lines: string[] = []
    const child = startChild({
      name: 'owner-1',
      command: process.execPath,
      args: [`--title=${markOf(mark, 'owner-1')}`, PROGRAM],
      env: {
        SVC_NATS_URL: nats.urlFor('identity'),
        SVC_DATABASE_URL: database.urlFor('identity'),
        OWNER_PLAN: JSON.stringify(plan),
        ...env,
      },
      onLine: (line) => lines.push(line),
    })
    let ended: Ending | undefined
    void child.ended.then((ending) => {
      ended = ending
    })
    return {
      lines,
      ended: child.ended,
      untilIdle: () =>
        eventually(
          () => {
            if (ended !== undefined) throw new Error(`the owner ended (${ended.reason}): ${lines.join('; ')}`)
            return lines.includes('idle')
          },
          { timeoutMs: RESOLVED_WITHIN_MS },
        ),
      [Symbol.asyncDispose]: async () => void (await child.stop()),
    }
  }

  /** Two operations that take effect, each beside one that is refused after it was paid for; two of them introduce. */
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
    ])('killed at %s, the %i. time; another process resolves, and a repeat takes effect once', async (point, time) => {
      const { agentId, plan } = newPlan()
      await using first = startOwner(nats, plan, { SVC_FAILPOINTS: `${point}=kill@${time}` })
      expect(await first.ended).toMatchObject({ reason: 'signal SIGKILL' })

      await using second = startOwner(nats, [])
      await second.untilIdle()
      await untilResolved(agentId)
      await expectBooksToMatch(agentId, plan)

      await using third = startOwner(nats, plan)
      await third.untilIdle()
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
      'killed at %s while it resolves what another has left',
      async (point) => {
        const { agentId, plan } = newPlan()
        await using first = startOwner(nats, plan, { SVC_FAILPOINTS: 'charging.identity.committed=kill@1' })
        await first.ended
        await using second = startOwner(nats, [], { SVC_FAILPOINTS: `${point}=kill` })
        expect(await second.ended).toMatchObject({ reason: 'signal SIGKILL' })
        await using third = startOwner(nats, [])
        await third.untilIdle()
        await untilResolved(agentId)
        expect(await expectBooksToMatch(agentId, plan)).toBe(1)
      },
    )

    test('killed in the purge, after budget has confirmed: what was done stays charged and is forgotten by the next', async () => {
      const { agentId, plan } = newPlan()
      await using first = startOwner(nats, plan)
      await first.untilIdle()
      const ids = plan.map(({ operation }) => operation)
      const recorded = () => sql`select from identity.operations where id = any(${ids}::text[])`
      await sql`update identity.operations set deadline_ms = deadline_ms - 60000 where id = any(${ids}::text[])`
      await using second = startOwner(nats, [], {
        OWNER_PURGE_AFTER_MS: '30000',
        SVC_FAILPOINTS: 'charging.identity.confirmed=kill',
      })
      expect(await second.ended).toMatchObject({ reason: 'signal SIGKILL' })
      expect(await recorded()).toHaveLength(2)
      await using third = startOwner(nats, [], { OWNER_PURGE_AFTER_MS: '30000' })
      await third.untilIdle()
      await eventually(async () => (await recorded()).length === 0)
      expect(await expectBooksToMatch(agentId, plan)).toBe(2)
    })

    test('several processes that resolve the same at once are as good as one', async () => {
      const { agentId, plan } = newPlan()
      await using first = startOwner(nats, plan, { SVC_FAILPOINTS: 'charging.identity.committed=kill@1' })
      await first.ended
      await using second = startOwner(nats, [])
      await using third = startOwner(nats, [])
      await Promise.all([second.untilIdle(), third.untilIdle()])
      await untilResolved(agentId)
      expect(await expectBooksToMatch(agentId, plan)).toBe(1)
    })
  })

  test.each([
    ['budget.reserved', 1],
    ['budget.reserved', 2],
    ['budget.settled', 1],
    ['budget.released', 1],
  ])('budget killed at %s, the %i. time', async (point, time) => {
    const { agentId, plan } = newPlan()
    await using nats = await startTestNats()
    await using first = await startBudget(nats, `${point}=kill@${time}`)
    await using owner = startOwner(nats, plan)
    expect(await first.ended).toMatchObject({ reason: 'signal SIGKILL' })
    await using _second = await startBudget(nats)
    await owner.untilIdle()
    await untilResolved(agentId)
    expect(await expectBooksToMatch(agentId, plan)).toBe(2)
  })
})

function newAgentId(): string {
  const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZ'
  return Array.from(randomBytes(43), (byte) => digits[byte % digits.length]).join('')
}
