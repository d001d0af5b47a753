import { runReport } from '@svc/postgres/report.ts'
import { expect, test } from 'vitest'
import { findToday, findWrongAccounts, sumEnded } from '../src/store/books.ts'
import { type Harness, startHarness } from './harness.ts'

const AGENTS = 20
const CHARGES = 400
const ALL = { after: '', last: null, only: null }

/** Makes accounts with charges of today in all states. Many deadlines are equal. @returns the time of the first charge. */
async function fill({ database }: Harness): Promise<number> {
  const [row] = await database.sql<{ now_ms: number }[]>`
    with charges as (
      insert into budget.reservations (operation, state, owner, agent_id, units, deadline_ms, day, credits, introduces, slot)
      select 'messaging:' || md5(n::text), (array['settled', 'settled', 'settled', 'released', 'held'])[1 + n % 5], 'messaging',
        'agent-' || lpad((n / 5 % ${AGENTS})::text, 2, '0'), 1 + n % 9,
        (extract(epoch from statement_timestamp()) * 1000)::bigint + (n * 13 % 40) * 1000,
        (statement_timestamp() at time zone 'UTC')::date, n % 2, false, n % 3
      from generate_series(1, ${CHARGES}) n
      returning agent_id, units, credits, day, state
    )
    insert into budget.accounts (agent_id, day, used_units, credits_drawn, credit_balance)
    select c.agent_id, c.day, sum(c.units) filter (where c.state <> 'released'), sum(c.credits) filter (where c.state <> 'released'), 0
    from charges c group by c.agent_id, c.day
    returning (extract(epoch from statement_timestamp()) * 1000)::bigint as now_ms`
  return row?.now_ms ?? 0
}

/** Reads page by page, like the operator's tool. */
async function sumAll(
  { database }: Harness,
  untilMs: number,
  limit: number,
): Promise<{ sums: Map<string, number>; pages: number }> {
  const sums = new Map<string, number>()
  let after = { deadlineMs: 0, operation: '' }
  for (let pages = 1; ; pages += 1) {
    const page = await runReport(database, (tx) => sumEnded(tx, { after, untilMs, agentId: null, limit }))
    for (const { agent_id, units } of page.sums) sums.set(agent_id, (sums.get(agent_id) ?? 0) + units)
    if (page.last === null) return { sums, pages }
    after = page.last
  }
}

test('pages of ended charges and the rest of the counters cover every charge, for any limit and page size', async () => {
  await using h = await startHarness()
  const nowMs = await fill(h)
  const accounts = await h.database.sql<{ agent_id: string; used_units: number }[]>`
    select agent_id, used_units from budget.accounts order by agent_id`
  expect(accounts).toHaveLength(AGENTS)
  for (const untilMs of [nowMs - 1, nowMs + 13_000, nowMs + 60_000]) {
    const { sums: left } = await runReport(h.database, (tx) => findToday(tx, ALL, untilMs))
    const leftOf = new Map(left.map(({ agent_id, units }) => [agent_id, units]))
    for (const limit of [7, 40, 1_000]) {
      const { sums, pages } = await sumAll(h, untilMs, limit)
      if (limit === 7 && untilMs > nowMs + 1_000) expect(pages).toBeGreaterThan(10)
      for (const { agent_id } of accounts) expect(sums.get(agent_id) ?? 0, agent_id).toBe(leftOf.get(agent_id))
    }
  }
})

test('one wrong account of many is found, with its rule and both figures', async () => {
  await using h = await startHarness()
  await fill(h)
  // Grant the credits that were drawn.
  await h.database.sql`
    insert into budget.grants (reference, agent_id, units)
    select 'of ' || agent_id, agent_id, credits_drawn from budget.accounts where credits_drawn > 0`
  const wrong = (only: string | null = null) =>
    runReport(h.database, (tx) => findWrongAccounts(tx, { ...ALL, only }, true, 100)).then((found) =>
      found.filter(({ rule }) => rule !== 'overdue reservation'),
    )
  expect(await wrong()).toEqual([])
  const [account] = await h.database.sql<{ agent_id: string; used_units: number }[]>`
    update budget.accounts set used_units = used_units + 5 where agent_id = 'agent-07' returning agent_id, used_units`
  const found = {
    rule: 'units of today',
    id: 'agent-07',
    found: account?.used_units,
    expected: (account?.used_units ?? 0) - 5,
  }
  expect(await wrong()).toMatchObject([found])
  expect(await wrong('agent-07')).toMatchObject([found])
  expect(await wrong('agent-08')).toEqual([])
})
