import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Allowances } from '../src/domain/allowances.ts'
import { decide, type Price, type Standing } from './decide.ts'
import { type Harness, startHarness } from './harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h?.[Symbol.asyncDispose]())

interface Case {
  standing: Standing
  price: Price
  allowances: Allowances
}

/** Asks the SQL functions about all cases in one statement. */
async function askAll(cases: readonly Case[]): Promise<ReturnType<typeof decide>[]> {
  const rows = await h.database.run(
    (sql) => sql<{ refusal: Exclude<ReturnType<typeof decide>, object> | null; credits: number }[]>`
      select budget.refusal_of(
          units => (c->'price'->>'units')::bigint,
          introduces => (c->'price'->>'introduces')::boolean,
          used_units => (c->'standing'->>'usedUnits')::bigint,
          credits_drawn => (c->'standing'->>'creditsDrawn')::bigint,
          credit_balance => (c->'standing'->>'creditBalance')::bigint,
          used_introductions => (c->'standing'->>'usedIntroductions')::bigint,
          free_units => (c->'allowances'->>'freeUnits')::bigint,
          hard_limit => (c->'allowances'->>'hardLimit')::bigint,
          introduction_limit => (c->'allowances'->>'introductions')::bigint
        ) as refusal,
        budget.credits_for(
          units => (c->'price'->>'units')::bigint,
          used_units => (c->'standing'->>'usedUnits')::bigint,
          credits_drawn => (c->'standing'->>'creditsDrawn')::bigint,
          free_units => (c->'allowances'->>'freeUnits')::bigint
        ) as credits
      from jsonb_array_elements(${JSON.stringify(cases)}::text::jsonb) with ordinality as u (c, ord) order by u.ord`,
  )
  return rows.map(({ refusal, credits }) => refusal ?? { credits })
}

async function ask(standing: Standing, price: Price, allowances: Allowances): Promise<ReturnType<typeof decide>> {
  const [answer] = await askAll([{ standing, price, allowances }])
  if (answer === undefined) throw new Error('the table has an answer for each case')
  return answer
}

const allowances = { freeUnits: 100, hardLimit: 1000, introductions: 10 }
const fresh = { usedUnits: 0, creditsDrawn: 0, creditBalance: 0, usedIntroductions: 0 }

describe('spec 11.1, 11.3, 11.4: free units, then credits, never past the ceiling', () => {
  test.each([
    ['the first unit is free', {}, 1, { credits: 0 }],
    ['the last free unit', { usedUnits: 99 }, 1, { credits: 0 }],
    ['no free unit and no credits are left', { usedUnits: 100 }, 1, 'budget_exhausted'],
    ['free units do not cover all of it', { usedUnits: 99 }, 2, 'budget_exhausted'],
    ['credits cover what is above the free allowance', { usedUnits: 99, creditBalance: 1 }, 2, { credits: 1 }],
    ['credits are not enough', { usedUnits: 99, creditBalance: 1 }, 3, 'budget_exhausted'],
    ['credits pay for all when nothing is free', { usedUnits: 100, creditBalance: 5 }, 5, { credits: 5 }],
    ['the last unit below the ceiling', { usedUnits: 999, creditsDrawn: 899, creditBalance: 50 }, 1, { credits: 1 }],
    [
      'credits never pass the ceiling',
      { usedUnits: 1000, creditsDrawn: 900, creditBalance: 50 },
      1,
      'hard_limit_reached',
    ],
    ['the ceiling is checked before the credits', { usedUnits: 1000, creditsDrawn: 900 }, 1, 'hard_limit_reached'],
    ['more than a whole day at once', { creditBalance: 5000 }, 1001, 'hard_limit_reached'],
    ['free units that were given back are free again', { usedUnits: 60, creditsDrawn: 20 }, 60, { credits: 0 }],
  ])('%s', async (_rule, standing, units, expected) => {
    expect(await ask({ ...fresh, ...standing }, { units, introduces: false }, allowances)).toEqual(expected)
  })
})

describe('spec 7.2: introductions, ceiling, units, in this order', () => {
  test.each([
    ['the last introduction', { usedIntroductions: 9 }, { credits: 0 }],
    ['no introduction is left', { usedIntroductions: 10 }, 'introduction_limit_reached'],
    ['credits do not buy introductions', { usedIntroductions: 10, creditBalance: 1e6 }, 'introduction_limit_reached'],
    ['introductions come before the ceiling', { usedIntroductions: 10, usedUnits: 1000 }, 'introduction_limit_reached'],
    ['the ceiling comes before the units', { usedIntroductions: 9, usedUnits: 1000 }, 'hard_limit_reached'],
    ['then the units', { usedIntroductions: 9, usedUnits: 100 }, 'budget_exhausted'],
  ])('%s', async (_rule, standing, expected) => {
    expect(await ask({ ...fresh, ...standing }, { units: 1, introduces: true }, allowances)).toEqual(expected)
  })

  test('an introduced pair needs no introduction', async () => {
    expect(await ask({ ...fresh, usedIntroductions: 10 }, { units: 1, introduces: false }, allowances)).toEqual({
      credits: 0,
    })
  })
})

test('an operator may allow nothing', async () => {
  const nothing = { freeUnits: 0, hardLimit: 0, introductions: 0 }
  const price = { units: 1, introduces: false }
  expect(await ask(fresh, price, nothing)).toBe('hard_limit_reached')
  expect(await ask({ ...fresh, creditBalance: 1 }, price, { ...nothing, hardLimit: 1 })).toEqual({ credits: 1 })
})

test('for any numbers it agrees with the model, takes at most the balance, and leaves no free unit unused', async () => {
  const amount = fc.nat({ max: 30 })
  const cases = fc.sample(
    fc.record({
      standing: fc
        .record({
          usedUnits: amount,
          creditsDrawn: amount,
          creditBalance: amount,
          usedIntroductions: fc.nat({ max: 3 }),
        })
        .map((standing) => ({ ...standing, creditsDrawn: Math.min(standing.creditsDrawn, standing.usedUnits) })),
      price: fc.record({ units: fc.integer({ min: 1, max: 20 }), introduces: fc.boolean() }),
      allowances: fc.record({ freeUnits: amount, hardLimit: fc.nat({ max: 60 }), introductions: fc.nat({ max: 3 }) }),
    }),
    2_000,
  )
  const answers = await askAll(cases)
  expect(answers).toEqual(cases.map(({ standing, price, allowances }) => decide(standing, price, allowances)))
  for (const [index, { standing, price, allowances }] of cases.entries()) {
    const answer = answers[index]
    if (typeof answer !== 'object') continue
    expect(answer.credits).toBeLessThanOrEqual(Math.min(standing.creditBalance, price.units))
    expect(standing.usedUnits + price.units).toBeLessThanOrEqual(allowances.hardLimit)
    const freeUsed = standing.usedUnits + price.units - standing.creditsDrawn - answer.credits
    if (answer.credits > 0) expect(freeUsed).toBeGreaterThanOrEqual(allowances.freeUnits)
  }
})
