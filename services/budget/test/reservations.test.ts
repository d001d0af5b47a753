import { isLockTimeout } from '@svc/postgres/errors.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Allowances } from '../src/domain/allowances.ts'
import { secondsToMidnight } from '../src/domain/day.ts'
import { SLOTS, truncateReservations } from '../src/store/reservations.ts'
import { reserveBatch } from '../src/store/reserve.ts'
import { ALLOWANCES, type Attempt, type Calls, type Harness, newOperation, startHarness } from './harness.ts'

const HOUR_MS = 60 * 60 * 1000
/** reserve waits at least this long for operations under way (handlers/reserve.ts). Leaves room for one slow query. */
const WAITED_MS = 250

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness[Symbol.asyncDispose]())

describe('reserve', () => {
  test('ADR 21: a repeat of the same operation costs nothing, and its attempt ends later', async () => {
    const h = harness.calls()
    const operation = newOperation()
    const first = await h.reserve({ operation, units: 3, peer: 'peer' })
    const second = await h.reserve({ operation, units: 3, peer: 'peer', holdMs: 1 })
    expect(second.settled).toBe(false)
    expect(second.deadline_ms).toBeGreaterThan(first.deadline_ms)
    expect(await h.budget()).toMatchObject({ used_units: 3, used_introductions: 1 })
  })

  test('ADR 21: a settled operation is answered as settled, with its deadline', async () => {
    const h = harness.calls()
    const operation = newOperation()
    const first = await h.reserve({ operation, units: 3 })
    await h.settle(operation)
    expect(await h.reserve({ operation, units: 3 })).toEqual({
      deadline_ms: first.deadline_ms,
      settled: true,
      shared: false,
    })
    expect(await h.budget()).toMatchObject({ used_units: 3 })
  })

  test('ADR 21: a released operation is charged anew, under a later deadline', async () => {
    const h = harness.calls()
    const operation = newOperation()
    const first = await h.reserve({ operation, units: 3 })
    await h.release(operation, first.deadline_ms)
    expect(await h.budget()).toMatchObject({ used_units: 0 })
    const second = await h.reserve({ operation, units: 3, holdMs: 1 })
    expect(second.deadline_ms).toBeGreaterThan(first.deadline_ms)
    expect(await h.budget()).toMatchObject({ used_units: 3 })
  })

  test.each([
    ['agent', { agent: 'other' }],
    ['owner', { owner: 'boards' as const }],
    ['introduction', { peer: 'peer' }],
  ])(
    'an operation that is repeated with another %s is an error of its owner and changes nothing',
    async (_what, other) => {
      const h = harness.calls()
      const operation = newOperation()
      await h.reserve({ operation })
      await expect(h.reserve({ operation, ...other })).rejects.toMatchObject({ code: 'internal' })
      expect(await h.budget()).toMatchObject({ used_units: 1, used_introductions: 0 })
      expect(await h.budget('other')).toMatchObject({ used_units: 0 })
    },
  )

  describe('spec 8.8, 11.2: a post that is repeated after subscribers changed costs its present price', () => {
    test('released: it is charged again, at its new price', async () => {
      const h = harness.calls()
      const operation = newOperation()
      const first = await h.reserve({ operation, units: 2 })
      await h.release(operation, first.deadline_ms)
      const second = await h.reserve({ operation, units: 3 })
      expect(second).toMatchObject({ settled: false, shared: false })
      expect(await h.budget()).toMatchObject({ used_units: 3 })
      await h.release(operation, second.deadline_ms)
      expect(await h.budget()).toMatchObject({ used_units: 0 })
    })

    test('settled: it is paid, even if it would have another price now', async () => {
      const h = harness.calls()
      const operation = newOperation()
      await h.reserve({ operation, units: 2 })
      await h.settle(operation)
      expect(await h.reserve({ operation, units: 3 })).toMatchObject({ settled: true })
      expect(await h.budget()).toMatchObject({ used_units: 2 })
    })

    test('under way: the outcome of the earlier attempt is awaited', () =>
      untilInTime(async () => {
        const h = harness.calls()
        const [paid, givenUp] = [newOperation(), newOperation()]
        await h.reserve({ operation: paid, units: 2 })
        const first = await h.reserve({ operation: givenUp, units: 2 })
        const repeats = Promise.all([
          h.reserve({ operation: paid, units: 3 }),
          h.reserve({ operation: givenUp, units: 3 }),
        ])
        const answers = await endInTime(repeats, () =>
          Promise.all([h.settle(paid), h.release(givenUp, first.deadline_ms)]),
        )
        expect(answers).toMatchObject([{ settled: true }, { settled: false, shared: false }])
        expect(await h.budget()).toMatchObject({ used_units: 5 })
      }))

    test('under way for long: the outcome is unknown, and the earlier attempt keeps its deadline', async () => {
      const h = harness.calls()
      const operation = newOperation()
      const first = await h.reserve({ operation, units: 2 })
      await expect(h.reserve({ operation, units: 3 })).rejects.toMatchObject({ code: 'unavailable' })
      await h.release(operation, first.deadline_ms)
      expect(await h.budget()).toMatchObject({ used_units: 0 })
    })
  })

  test('a caller that has given up is not charged', async () => {
    const h = harness.calls()
    const [late, live] = await Promise.allSettled([h.reserve({}, Date.now() - 1), h.reserve({ agent: 'other' })])
    expect(late).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
    expect(live).toMatchObject({ status: 'fulfilled' })
    expect(await h.budget()).toMatchObject({ used_units: 0 })
    expect(await h.budget('other')).toMatchObject({ used_units: 1 })
  })
})

describe('spec 11.3: a refused operation leaves no trace', () => {
  const full = async (h: Calls): Promise<void> => {
    await h.spend({ units: 99 })
    await h.spend({ peer: 'friend' })
  }
  test.each([
    ['introduction_limit_reached', { peer: 'stranger' }, { introductions: 1 }],
    ['hard_limit_reached', { units: 1 }, { hardLimit: 100 }],
    ['budget_exhausted', { units: 1 }, {}],
  ])('%s', async (code, cost, allowances) => {
    const h = harness.calls(allowances)
    await full(h)
    const before = await h.budget()
    const operation = newOperation()
    const refusal = h.reserve({ operation, ...cost })
    await expect(refusal).rejects.toMatchObject({ code })
    expect(await h.budget()).toEqual(before)
    const [row] = await harness.database.sql`select from budget.reservations where operation = ${operation}`
    expect(row).toBeUndefined()
  })

  test('spec 4.2: every refusal has the time to the next UTC midnight', async () => {
    const h = harness.calls({ hardLimit: 0 })
    const earliest = secondsToMidnight(Date.now())
    const error = await h.reserve().catch((thrown: unknown) => thrown)
    const latest = secondsToMidnight(Date.now())
    const seconds = (error as { retryAfterSeconds: number }).retryAfterSeconds
    expect(Number.isInteger(seconds)).toBe(true)
    // Modulo a day, in case the test runs at midnight.
    const before = (some: number) => (earliest - some + 86_400) % 86_400
    expect(before(seconds)).toBeLessThanOrEqual(before(latest))
    expect((await h.budget()).resets_at % 86_400).toBe(0)
  })

  test('spec 7.2: introductions are checked before the ceiling, the ceiling before the units', async () => {
    const h = harness.calls({ freeUnits: 0, hardLimit: 0, introductions: 0 })
    await expect(h.reserve({ peer: 'p' })).rejects.toMatchObject({ code: 'introduction_limit_reached' })
    await expect(h.reserve()).rejects.toMatchObject({ code: 'hard_limit_reached' })
    const poor = harness.calls({ freeUnits: 0, introductions: 0 })
    await expect(poor.reserve({})).rejects.toMatchObject({ code: 'budget_exhausted' })
  })
})

describe('spec 11.3: every refusal is final', () => {
  /** Uses up an allowance with an operation that may still be released. */
  async function atTheEnd(h: Calls, cost: Attempt): Promise<{ operation: string; deadlineMs: number }> {
    const operation = newOperation()
    const { deadline_ms: deadlineMs } = await h.reserve({ operation, ...cost })
    return { operation, deadlineMs }
  }
  const ends: [string, Attempt, Partial<Allowances>][] = [
    ['introduction_limit_reached', { peer: 'bob' }, { introductions: 1 }],
    ['hard_limit_reached', { units: 100 }, { hardLimit: 100 }],
    ['budget_exhausted', { units: 100 }, {}],
  ]
  const another: Attempt = { peer: 'carol' }

  test.each(ends)(
    '%s: a waiting operation can use the units that a concurrent operation releases',
    (_code, cost, most) =>
      untilInTime(async () => {
        const h = harness.calls(most)
        const { operation, deadlineMs } = await atTheEnd(h, cost)
        await endInTime(h.spend(another), () => h.release(operation, deadlineMs))
        expect(await h.budget()).toMatchObject({ used_units: 1 })
      }),
  )

  test.each(ends)('%s: it is answered when the concurrent operation has ended', (code, cost, most) =>
    untilInTime(async () => {
      const h = harness.calls(most)
      const { operation } = await atTheEnd(h, cost)
      const refusal = h.spend(another).catch((thrown: unknown) => thrown)
      expect(await endInTime(refusal, () => h.settle(operation))).toMatchObject({ code })
    }),
  )

  test.each(ends)(
    '%s: as long as the concurrent operation has not ended, the answer is unavailable',
    async (_code, cost, most) => {
      const h = harness.calls(most)
      await atTheEnd(h, cost)
      await expect(h.spend(another)).rejects.toMatchObject({ code: 'unavailable' })
    },
  )

  test('a refusal that no operation under way can change is answered at once', async () => {
    const h = harness.calls({ hardLimit: 200 })
    await h.grant('agent', 50, 'r')
    await h.reserve({ units: 120 })
    const unavailable = harness.calls()
    await unavailable.reserve({ units: 100 })
    await expect(h.reserve({ units: 151 })).rejects.toMatchObject({ code: 'hard_limit_reached' })
    await expect(unavailable.reserve({ units: 101 })).rejects.toMatchObject({ code: 'budget_exhausted' })
  })
})

describe('spec 11.1, 11.4: credits', () => {
  test('cover units above the free allowance and nothing below', async () => {
    const h = harness.calls()
    await h.grant('agent', 30, 'r')
    await h.spend({ units: 90 })
    expect(await h.budget()).toMatchObject({ used_units: 90, credit_balance: 30 })
    await h.spend({ units: 20 })
    expect(await h.budget()).toMatchObject({ used_units: 110, credit_balance: 20 })
    await h.spend({ units: 20 })
    expect(await h.budget()).toMatchObject({ used_units: 130, credit_balance: 0 })
    await expect(h.reserve()).rejects.toMatchObject({ code: 'budget_exhausted' })
  })

  test('never cover the hard ceiling or the introduction limit', async () => {
    const h = harness.calls({ hardLimit: 110, introductions: 0 })
    await h.grant('agent', 1000, 'r')
    await h.spend({ units: 110 })
    await expect(h.reserve()).rejects.toMatchObject({ code: 'hard_limit_reached' })
    await expect(h.reserve({ peer: 'p' })).rejects.toMatchObject({ code: 'introduction_limit_reached' })
  })

  test('spec 11.3: a failed operation returns the credits that it drew; the free units that it leaves are free again', async () => {
    const h = harness.calls()
    await h.grant('agent', 50, 'r')
    const [free, paid] = [newOperation(), newOperation()]
    const { deadline_ms: freeDeadline } = await h.reserve({ operation: free, units: 60 })
    const { deadline_ms: paidDeadline } = await h.reserve({ operation: paid, units: 60 })
    expect(await h.budget()).toMatchObject({ used_units: 120, credit_balance: 30 })
    await h.release(free, freeDeadline)
    await h.reserve({ units: 60 })
    expect(await h.budget()).toMatchObject({ used_units: 120, credit_balance: 30 })
    await h.release(paid, paidDeadline)
    expect(await h.budget()).toMatchObject({ used_units: 60, credit_balance: 50 })
  })
})

describe('spec 11.4: grants', () => {
  test('the same reference with the same values does nothing and says so; with other values it is refused', async () => {
    const h = harness.calls()
    expect(await h.grant('agent', 5, 'r1')).toEqual({ granted: true, credit_balance: 5 })
    expect(await h.grant('agent', 5, 'r1')).toEqual({ granted: false, credit_balance: 5 })
    await expect(h.grant('agent', 6, 'r1')).rejects.toMatchObject({ code: 'id_conflict' })
    await expect(h.grant('other', 5, 'r1')).rejects.toMatchObject({ code: 'id_conflict' })
    expect(await h.grant('agent', 5, 'r2')).toEqual({ granted: true, credit_balance: 10 })
    expect(await h.budget()).toMatchObject({ credit_balance: 10 })
    expect(await h.budget('other')).toMatchObject({ credit_balance: 0 })
    const audit = await harness.database.run(
      (sql) =>
        sql`select a.operator, a.reference, a.result from budget.audit a where a.target = ${h.agentId()} order by a.id`,
    )
    expect(audit.map((row) => ({ ...row, reference: row.reference.slice(-2) }))).toEqual([
      { operator: 'ann', reference: 'r1', result: { units: 5, credit_balance: 5 } },
      { operator: 'ann', reference: 'r2', result: { units: 5, credit_balance: 10 } },
    ])
  })

  test('20 concurrent grants with one reference grant once', async () => {
    const h = harness.calls()
    const results = await Promise.all(Array.from({ length: 20 }, () => h.grant('agent', 5, 'r')))
    expect(results.filter((result) => result.granted)).toHaveLength(1)
    expect(await h.budget()).toMatchObject({ credit_balance: 5 })
  })
})

describe('spec 11.5: an introduction is the first DM ever between a sender and another agent', () => {
  test('it counts once for a pair, in one direction, and never without a peer', async () => {
    const h = harness.calls()
    const first = newOperation()
    await h.reserve({ operation: first, peer: 'bob' })
    await h.settle(first)
    await h.reserve({ peer: 'bob' })
    await h.reserve({ peer: 'carol' })
    await h.reserve()
    await h.reserve({ agent: 'bob', peer: 'agent' })
    expect(await h.budget()).toMatchObject({ used_introductions: 2 })
    expect(await h.budget('bob')).toMatchObject({ used_introductions: 1 })
  })

  test('a released introduction does not count, and the next DM of the pair is the first', () =>
    untilInTime(async () => {
      const h = harness.calls({ introductions: 1 })
      const first = newOperation()
      const { deadline_ms: deadline } = await h.reserve({ operation: first, peer: 'bob' })
      await endInTime(h.spend({ peer: 'carol' }), () => h.release(first, deadline))
      expect(await h.budget()).toMatchObject({ used_introductions: 1 })
      await expect(h.reserve({ peer: 'bob' })).rejects.toMatchObject({ code: 'introduction_limit_reached' })
    }))

  test.each([
    ['the one that counted it', 0],
    ['the one that joined it', 1],
  ])(
    'two waiting operations share an introduction; if %s is released, the other keeps it',
    async (_which, released) => {
      const h = harness.calls({ introductions: 1 })
      const operations = [newOperation(), newOperation()]
      const deadlines: number[] = []
      for (const operation of operations) deadlines.push((await h.reserve({ operation, peer: 'bob' })).deadline_ms)
      expect(await h.budget()).toMatchObject({ used_introductions: 1 })
      const [gone = '', kept = ''] = released === 0 ? operations : operations.toReversed()
      await h.release(gone, deadlines[released] ?? 0)
      expect(await h.budget()).toMatchObject({ used_introductions: 1, used_units: 1 })
      await h.settle(kept)
      await h.reserve({ peer: 'bob' })
      expect(await h.budget()).toMatchObject({ used_introductions: 1 })
    },
  )

  test('an introduction is gone when all operations that share it are released, and stays if one of them is settled', async () => {
    const h = harness.calls()
    const [a, b, c, d] = [newOperation(), newOperation(), newOperation(), newOperation()]
    const take = async (operation: string, peer: string) => (await h.reserve({ operation, peer })).deadline_ms
    const deadlines = {
      a: await take(a, 'bob'),
      b: await take(b, 'bob'),
      c: await take(c, 'carol'),
      d: await take(d, 'carol'),
    }
    await h.release(a, deadlines.a)
    await h.release(b, deadlines.b)
    await h.settle(c)
    await h.release(d, deadlines.d)
    expect(await h.budget()).toMatchObject({ used_introductions: 1, used_units: 1 })
    await h.reserve({ peer: 'carol' })
    expect(await h.budget()).toMatchObject({ used_introductions: 1 })
    await h.reserve({ peer: 'bob' })
    expect(await h.budget()).toMatchObject({ used_introductions: 2 })
  })
})

describe('spec 11.1: a UTC day', () => {
  const account = async (h: Calls) =>
    (await harness.database.sql`select * from budget.accounts where agent_id = ${h.agentId()}`)[0]
  const pastDays = (h: Calls) => harness.database.sql`
    select used_units, used_introductions, credits_drawn from budget.past_days where agent_id = ${h.agentId()}`

  test('after midnight the free units, the ceiling and the introductions are available again, credits are not', async () => {
    const h = harness.calls()
    await h.grant('agent', 10, 'r')
    expect(await take(h, '2026-11-20T23:59:59.998Z', 110, 'bob')).toMatchObject({ outcome: 'taken' })
    expect(await take(h, '2026-11-20T23:59:59.999Z', 1)).toMatchObject({ outcome: 'budget_exhausted' })
    expect(await take(h, '2026-11-21T00:00:00.000Z', 100, 'carol')).toMatchObject({ outcome: 'taken' })
    expect(await take(h, '2026-11-21T00:00:00.001Z', 1)).toMatchObject({ outcome: 'budget_exhausted' })
    expect(await account(h)).toMatchObject({
      used_units: 100,
      used_introductions: 1,
      credits_drawn: 0,
      credit_balance: 0,
    })
    expect(await pastDays(h)).toEqual([{ used_units: 110, used_introductions: 1, credits_drawn: 10 }])
  })

  test('spec 11.3: an operation that failed after midnight is released on the day before', async () => {
    const h = harness.calls()
    await h.grant('agent', 10, 'r')
    const evening = await take(h, '2026-11-20T23:59:59Z', 105, 'bob')
    const morning = await take(h, '2026-11-21T00:00:01Z', 3, 'bob')
    await h.release(evening.operation, evening.deadlineMs)
    expect(await account(h)).toMatchObject({ used_units: 3, used_introductions: 0, credit_balance: 10 })
    // A second operation joined the introduction after midnight, but it still counts on the day before.
    expect(await pastDays(h)).toEqual([{ used_units: 0, used_introductions: 1, credits_drawn: 0 }])
    await h.release(morning.operation, morning.deadlineMs)
    expect(await account(h)).toMatchObject({ used_units: 0, used_introductions: 0 })
    expect(await pastDays(h)).toEqual([{ used_units: 0, used_introductions: 0, credits_drawn: 0 }])
  })

  test('a clock that is set back past midnight does not return to the previous day', async () => {
    const h = harness.calls()
    await take(h, '2026-11-21T00:00:01Z', 60)
    expect(await take(h, '2026-11-20T23:59:59Z', 60)).toMatchObject({ outcome: 'budget_exhausted' })
    expect(await pastDays(h)).toEqual([])
  })

  test('the budget of an agent without charges today is full', async () => {
    const h = harness.calls()
    await take(h, new Date(Date.now() - 24 * HOUR_MS).toISOString(), 50, 'bob')
    for (const agent of ['agent', 'nobody']) {
      expect(await h.budget(agent)).toEqual({
        daily_free_units: 100,
        daily_hard_limit: 1000,
        used_units: 0,
        credit_balance: 0,
        used_introductions: 0,
        daily_introduction_limit: 10,
        resets_at: expect.any(Number),
        vote_bonus: 0,
      })
    }
  })
})

describe('settle and release', () => {
  test('are idempotent, and leave unknown and ended operations alone', async () => {
    const h = harness.calls()
    const [settled, released] = [newOperation(), newOperation()]
    const { deadline_ms: settledDeadline } = await h.reserve({ operation: settled, units: 2 })
    const { deadline_ms: releasedDeadline } = await h.reserve({ operation: released, units: 4 })
    for (let time = 0; time < 2; time += 1) {
      await h.settleSoon(settled, newOperation())
      await h.settle(settled)
      await h.release(released, releasedDeadline)
      await h.release(settled, settledDeadline + 1000)
      await h.release(newOperation(), settledDeadline)
    }
    expect(await h.budget()).toMatchObject({ used_units: 2 })
  })

  test('a release does nothing if a later attempt holds the reservation', async () => {
    const h = harness.calls()
    const operation = newOperation()
    const first = await h.reserve({ operation })
    const second = await h.reserve({ operation })
    await h.release(operation, first.deadline_ms)
    expect(await h.budget()).toMatchObject({ used_units: 1 })
    await h.release(operation, second.deadline_ms)
    expect(await h.budget()).toMatchObject({ used_units: 0 })
  })

  test('settling a released operation does nothing but log an error', async () => {
    const h = harness.calls()
    const operation = newOperation()
    const { deadline_ms: deadline } = await h.reserve({ operation })
    await h.release(operation, deadline)
    await h.settle(operation)
    expect(h.errors).toHaveLength(1)
    expect(await h.budget()).toMatchObject({ used_units: 0 })
    expect(await h.reserve({ operation })).toMatchObject({ settled: false })
  })

  test('many concurrent calls for shared operations end each operation once and without a deadlock', async () => {
    const h = harness.calls()
    const operations = Array.from({ length: 40 }, newOperation)
    const deadlines = await Promise.all(
      operations.map(
        async (operation, at) => (await h.reserve({ operation, agent: `agent-${at % 3}`, peer: 'bob' })).deadline_ms,
      ),
    )
    const half = operations.slice(0, 20)
    await Promise.all([
      ...Array.from({ length: 4 }, (_, at) => h.settleSoon(...(at % 2 === 0 ? half : half.toReversed()))),
      ...half.map((operation) => h.settle(operation)),
      ...operations.slice(20).flatMap((operation, at) => {
        const deadline = deadlines[20 + at] ?? 0
        return [h.release(operation, deadline), h.release(operation, deadline)]
      }),
    ])
    const budgets = await Promise.all(['agent-0', 'agent-1', 'agent-2'].map((agent) => h.budget(agent)))
    expect(budgets.reduce((sum, budget) => sum + budget.used_units, 0)).toBe(20)
    expect(budgets.map((budget) => budget.used_introductions)).toEqual([1, 1, 1])
  })
})

test('overdue reservations are listed to their owner, oldest first, until they are settled or released', async () => {
  const h = harness.calls()
  const [first, second, third] = [newOperation(), newOperation(), newOperation()]
  const deadlines = new Map<string, number>()
  for (const [at, operation] of [first, second, third].entries())
    deadlines.set(operation, (await h.reserve({ operation, owner: 'boards', holdMs: 300 - 100 * at })).deadline_ms)
  await h.reserve({ owner: 'boards', holdMs: 60_000 })
  const listed = async (limit?: number) => (await h.overdue('boards', limit)).map(({ operation }) => operation)
  await eventually(async () => (await listed()).length === 3)
  expect((await listed(1)).length).toBe(1)
  const overdue = await h.overdue('boards')
  expect(new Map(overdue.map(({ operation, deadline_ms }) => [operation, deadline_ms]))).toEqual(deadlines)
  // Two deadlines may fall in the same millisecond.
  expect(overdue.map(({ deadline_ms }) => deadline_ms)).toEqual([...deadlines.values()].sort((a, b) => a - b))
  expect(await h.overdue('webhook')).toEqual([])
  await h.settle(first)
  await h.release(second, deadlines.get(second) ?? 0)
  expect(await listed()).toEqual([third])
})

describe('purge', () => {
  /** In the slot before, or the one before that. */
  const LONG_AGO = new Date(Date.now() - 20 * HOUR_MS).toISOString()

  /** @returns how many partitions were emptied. */
  async function purge({ database: { sql } }: Harness, keptMs = HOUR_MS): Promise<number> {
    const emptied = []
    for (const slot of SLOTS) emptied.push(await truncateReservations(sql, { slot, keptMs, waitMs: 200 }))
    return emptied.filter((each) => each).length
  }

  test('empties a partition once nothing in it is held and all ended long ago; the books still agree', async () => {
    await using own = await startHarness()
    const { sql } = own.database
    const h = own.calls()
    const [settled, released, held] = [
      await take(h, LONG_AGO, 2, 'bob', own),
      await take(h, LONG_AGO, 1, null, own),
      await take(h, LONG_AGO, 4, null, own),
    ]
    await h.settle(settled.operation)
    await h.release(released.operation, released.deadlineMs)
    const young = newOperation()
    await h.reserve({ operation: young, holdMs: 1 })
    await h.settle(young)
    const books = () =>
      sql`select used_units, used_introductions from budget.accounts union all select used_units, used_introductions from budget.past_days`
    const before = await books()
    expect(await purge(own)).toBe(0)
    await h.settle(held.operation)
    expect(await purge(own, 25 * HOUR_MS)).toBe(0)
    expect(await purge(own)).toBe(1)
    expect(await sql`select operation from budget.reservations`).toEqual([{ operation: young }])
    expect(await books()).toEqual(before)
  })

  test('ADR 21: an operation that is attempted again stays, in the partition of its last attempt', async () => {
    await using own = await startHarness()
    const h = own.calls()
    const [held, released] = [await take(h, LONG_AGO, 1, null, own), await take(h, LONG_AGO, 2, null, own)]
    await h.release(released.operation, released.deadlineMs)
    for (const [units, { operation }] of [held, released].entries()) {
      await h.reserve({ operation, units: units + 1 })
      await h.settle(operation)
    }
    expect(await purge(own)).toBe(0)
    for (const [units, { operation }] of [held, released].entries()) {
      expect(await h.reserve({ operation, units: units + 1 })).toMatchObject({ settled: true })
    }
    // A new reservation shows which partition is written now.
    await h.reserve({ operation: newOperation() })
    const slots = await own.database.sql`select count(*)::int as rows from budget.reservations group by slot`
    expect(slots).toEqual([{ rows: 3 }])
  })

  test('ADR 14: a partition that somebody reads is left for a later pass', async () => {
    await using own = await startHarness()
    const h = own.calls()
    const { operation } = await take(h, LONG_AGO, 1, null, own)
    await h.settle(operation)
    await own.database.sql.begin(async (tx) => {
      await tx`select from budget.reservations`
      await expect(purge(own)).rejects.toSatisfy(isLockTimeout)
      await h.spend()
    })
    expect(await purge(own)).toBe(1)
  })

  test('charges go on while partitions are emptied all the time', async () => {
    await using own = await startHarness()
    const h = own.calls()
    const agents = Array.from({ length: 8 }, (_, at) => `agent-${at}`)
    let [spending, emptied] = [true, 0]
    const spend = async (agent: string): Promise<void> => {
      for (let count = 0; count < 30; count += 1) await h.spend({ agent })
    }
    const purges = (async () => {
      // Whatever is not held may go at once.
      while (spending) emptied += await purge(own, -HOUR_MS).catch(ignoreLockTimeout)
    })()
    await Promise.all(agents.map(spend)).finally(() => {
      spending = false
    })
    await purges
    expect(emptied).toBeGreaterThan(0)
    for (const agent of agents) expect(await h.budget(agent)).toMatchObject({ used_units: 30 })
  })
})

function ignoreLockTimeout(error: unknown): number {
  if (isLockTimeout(error)) return 0
  throw error
}

/** Ends the operation that `waiting` waits for. @throws EndedLate if that took too long; then any answer is possible. */
async function endInTime<T>(waiting: Promise<T>, end: () => Promise<unknown>): Promise<T> {
  const beganMs = performance.now()
  waiting.catch(() => {}) // in case it is not awaited
  await end()
  if (performance.now() - beganMs > WAITED_MS) throw new EndedLate()
  return waiting
}

class EndedLate extends Error {}

/** Runs a scene, and repeats it if its end came too late. */
async function untilInTime(scene: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await scene()
    } catch (error) {
      if (!(error instanceof EndedLate)) throw error
    }
  }
}

/** Makes an attempt at the given time instead of now. */
async function take(h: Calls, at: string, units: number, peer: string | null = null, { database } = harness) {
  const operation = newOperation()
  const item = { operation, owner: 'messaging', agentId: h.agentId(), units, introductionPeer: peer, holdMs: 1000 }
  const [reserved] = await reserveBatch(database.sql, ALLOWANCES, [item], { at: new Date(at) })
  return { operation, deadlineMs: 0, ...reserved }
}
