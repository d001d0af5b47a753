import type { Sql } from '@svc/postgres/database.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Allowances } from '../src/domain/allowances.ts'
import { DAY_MS } from '../src/domain/day.ts'
import { grantCredits } from '../src/store/grants.ts'
import { releaseBatch } from '../src/store/release.ts'
import { reserveBatch } from '../src/store/reserve.ts'
import { settleBatch } from '../src/store/settle.ts'
import { startHarness } from './harness.ts'
import { listDays, listDiscrepancies } from './ledger.ts'
import { type Cost, Model } from './model.ts'

const ALLOWANCES: Allowances = { freeUnits: 6, hardLimit: 14, introductions: 2 }
const AGENTS = ['ann', 'ben']
const OPERATIONS = 10

/** One step of a history. It names operations by their index in `costs`. */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('reserve' as const),
      operations: fc.uniqueArray(fc.nat({ max: OPERATIONS - 1 }), { minLength: 1, maxLength: 3 }),
      holdMs: fc.integer({ min: 1, max: 60_000 }),
      // The price of an operation may change between attempts.
      dearer: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('settle' as const),
      operations: fc.uniqueArray(fc.nat({ max: OPERATIONS - 1 }), { minLength: 1, maxLength: 4 }),
    }),
  },
  // `late`: the difference between the deadline that the owner names and the last one.
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('release' as const),
      operations: fc.uniqueArray(fc.nat({ max: OPERATIONS - 1 }), { minLength: 1, maxLength: 4 }),
      late: fc.constantFrom(0, 0, 0, 1000, -1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('grant' as const),
      agent: fc.constantFrom(...AGENTS),
      units: fc.integer({ min: 1, max: 5 }),
      reference: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 1000, DAY_MS / 3, DAY_MS, 3 * DAY_MS, -DAY_MS / 2),
    }),
  },
)
const cost = fc.record({
  agent: fc.constantFrom(...AGENTS),
  units: fc.integer({ min: 1, max: 5 }),
  peer: fc.constantFrom('p', 'p', 'q', 'r', null),
})
const history = fc.record({
  // The second ceiling is below the free units, and applies all the same.
  hardLimit: fc.constantFrom(ALLOWANCES.hardLimit, 4),
  costs: fc.array(cost, { minLength: OPERATIONS, maxLength: OPERATIONS }),
  steps: fc.array(step, { minLength: 20, maxLength: 60 }),
})

test('spec 11.3, 11.4, 11.5: the SQL agrees with the plain model, on any history, and the books add up', async () => {
  await using h = await startHarness()
  let run = 0
  await fc.assert(
    fc.asyncProperty(history, async ({ hardLimit, costs, steps }) => {
      run += 1
      const allowances = { ...ALLOWANCES, hardLimit }
      const name = (text: string): string => `${run}-${text}`
      const operations = costs.map(
        ({ agent, units, peer }, index): Cost => ({ operation: name(`op${index}`), agent: name(agent), units, peer }),
      )
      const model = new Model(allowances)
      let nowMs = Date.parse('2026-11-20T20:00:00Z')
      for (const happens of steps) {
        if (happens.does === 'wait') nowMs += happens.ms
        else if (happens.does === 'grant') {
          const [agent, reference] = [name(happens.agent), name(happens.reference)]
          const granted = await grantCredits(h.database.sql, { agentId: agent, units: happens.units, reference })
          expect(granted).toEqual({
            outcome: model.grant(agent, happens.units, reference),
            creditBalance: model.balanceOf(agent),
          })
        } else {
          const chosen = happens.operations.flatMap((at) => operations[at] ?? [])
          if (happens.does === 'reserve') {
            const priced = chosen.map((one) => ({ ...one, units: one.units + happens.dearer }))
            await reserveBoth(h.database.sql, allowances, model, priced, happens.holdMs, nowMs)
          } else if (happens.does === 'settle') {
            await settleBatch(
              h.database.sql,
              chosen.map(({ operation }) => operation),
              false,
            )
            for (const { operation } of chosen) model.settle(operation)
          } else {
            const items = chosen.map(({ operation }) => ({
              operation,
              deadlineMs: (model.reservations.get(operation)?.deadlineMs ?? nowMs) + happens.late,
            }))
            await releaseBatch(h.database.sql, items)
            for (const { operation, deadlineMs } of items) model.release(operation, deadlineMs)
          }
        }
      }
      await expectSameBooks(h.database.sql, model, `${run}-`)
    }),
    { numRuns: 150 },
  )
}, 120_000)

/** An agent may occur only once in a batch, so this reserves the first operation of each. */
async function reserveBoth(
  sql: Sql,
  allowances: Allowances,
  model: Model,
  chosen: Cost[],
  holdMs: number,
  nowMs: number,
): Promise<void> {
  const batch = [...new Map(chosen.map((one) => [one.agent, one])).values()]
  const items = batch.map(({ operation, agent, units, peer }) => ({
    operation,
    owner: 'messaging',
    agentId: agent,
    units,
    introductionPeer: peer,
    holdMs,
  }))
  const reserved = await reserveBatch(sql, allowances, items, { at: new Date(nowMs) })
  expect(reserved).toEqual(batch.map((one) => ({ ...model.reserve(one, holdMs, nowMs), nowMs })))
}

/** Checks that the model and the database agree, and that every counter is the sum of the rows it counts. */
async function expectSameBooks(sql: Sql, model: Model, prefix: string): Promise<void> {
  const days = await listDays(sql, prefix)
  expect(new Map(days.map(({ agentId, day, ...used }) => [`${agentId} ${day}`, used]))).toEqual(
    new Map([...model.days].filter(([, used]) => used.units + used.introductions > 0)),
  )
  const balances = await sql<{ agent_id: string; credit_balance: number }[]>`
    select agent_id, credit_balance from budget.accounts where starts_with(agent_id, ${prefix})`
  for (const { agent_id, credit_balance } of balances) expect(credit_balance).toBe(model.balanceOf(agent_id))
  expect(await listDiscrepancies(sql, prefix)).toEqual([])
}
