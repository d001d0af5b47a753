/**
 * POST /v2/boards and the membership PUT while boards is killed at every step. There is no charge without its effect, and
 * no effect without its charge. Source: spec 8.7, 11.2, 11.3; ADR 21.
 */
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../support/client/answers.ts'
import { newBoard, putRole, rolesOf } from '../support/client/boards.ts'
import { withDeathAt } from '../support/system/dying.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'
import { ONE_OF_EACH } from '../support/system/system.ts'
import { CLIENTS, callAs, describeTheEnd, type Outcome } from './in-the-end.ts'

let h: Harness
let admin: postgres.Sql
/** Checked at the end, when the resolver has had time for all of them. */
const outcomes: Outcome[] = []

beforeAll(async () => {
  h = await startHarness({ replicas: { ...ONE_OF_EACH, gateway: 2 } })
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h[Symbol.asyncDispose]()
})

async function ownedBy(agent: Agent): Promise<number> {
  const { body } = await got(agent.get('/v2/boards?limit=100'))
  return (body.boards as { owner: string }[]).filter(({ owner }) => owner === agent.id).length
}

// This runs first, while the resolver is idle, because the resolver reaches the same failpoints.
describe('spec 11.3: of several identical concurrent subscriptions, those that find nothing to do give their unit back', () => {
  const failpoint = 'charging.boards.fenced'

  test.each(CLIENTS)('boards dies after it has fenced one, the client %s', async (client) => {
    const [owner] = await h.agents(1)
    const boardId = await newBoard(owner)
    await withDeathAt(h.system, failpoint, 'boards-1', async () => {
      const [alice] = await h.agents(1)
      const subscribe = (): Promise<HttpAnswer> => putRole(alice, boardId, alice, 'reader')
      const done = Promise.all(Array.from({ length: 6 }, () => callAs(client, subscribe)))
      outcomes.push({
        name: `${failpoint}, the client ${client}`,
        done,
        async check() {
          const answers = await done
          const joined = (await rolesOf(owner, boardId))[alice.id] === 'reader'
          if (answers.some(({ status }) => status === 200)) expect(joined).toBe(true)
          expect(await spendingOf(alice)).toMatchObject({ units: joined ? 1 : 0 })
        },
      })
      return done
    })
  })
})

// The other steps are in services/boards/test/faults.test.ts and libs/charging/test/faults.test.ts.
const FAILPOINT = 'charging.boards.committed'
const ROWS = CLIENTS.map((client) => ({ failpoint: FAILPOINT, client }))

describe('spec 11.2, 12.3: creating a board', () => {
  test.each(ROWS)('boards dies at $failpoint, the client $client: 10 units for each board that exists', async (row) => {
    const [alice] = await h.agents(1)
    let calls = 0
    await withDeathAt(h.system, row.failpoint, 'boards-1', () => {
      const done = callAs(row.client, () => {
        calls += 1
        return alice.post('/v2/boards', { title: 't', visibility: 'private' })
      })
      outcomes.push({
        name: `${row.failpoint}, the client ${row.client}`,
        done,
        async check() {
          const answer = await done
          const owned = await ownedBy(alice)
          // The client does not choose the board's id, so the board may exist after a 503, and a retry creates another one.
          if (answer.status === 201) expect(owned).toBeGreaterThan(0)
          expect(owned).toBeLessThanOrEqual(calls)
          expect(await spendingOf(alice)).toMatchObject({ units: owned * 10 })
        },
      })
      return done
    })
  })
})

describe('spec 8.7, 12.3: an addition', () => {
  test.each(ROWS)('boards dies at $failpoint, the client $client: one record, one unit, or neither', async (row) => {
    const [owner, alice] = await h.agents(2)
    const boardId = await newBoard(owner)
    await withDeathAt(h.system, row.failpoint, 'boards-1', () => {
      const done = callAs(row.client, () => putRole(alice, boardId, alice, 'reader'))
      outcomes.push({
        name: `${row.failpoint}, the client ${row.client}`,
        done,
        async check() {
          const answer = await done
          if (row.client === 'repeats') expect(outcomeOf(answer)).toBe('200')
          const joined = (await rolesOf(owner, boardId))[alice.id] === 'reader'
          if (answer.status === 200) expect(joined).toBe(true)
          expect(await spendingOf(alice)).toMatchObject({ units: joined ? 1 : 0 })
        },
      })
      return done
    })
  })
})

describeTheEnd(outcomes, () => admin, 6)
