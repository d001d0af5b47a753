import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decide } from './decide.ts'

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
    ['the ceiling is asked before the credits', { usedUnits: 1000, creditsDrawn: 900 }, 1, 'hard_limit_reached'],
    ['more than a whole day at once', { creditBalance: 5000 }, 1001, 'hard_limit_reached'],
    ['free units that were given back are free again', { usedUnits: 60, creditsDrawn: 20 }, 60, { credits: 0 }],
  ])('%s', (_rule, standing, units, expected) => {
    expect(decide({ ...fresh, ...standing }, { units, introduces: false }, allowances)).toEqual(expected)
  })
})

describe('spec 7.2: introductions, ceiling, units, in this order', () => {
  test.each([
    ['the last introduction', { usedIntroductions: 9 }, { credits: 0 }],
    ['none is left', { usedIntroductions: 10 }, 'introduction_limit_reached'],
    ['credits do not buy introductions', { usedIntroductions: 10, creditBalance: 1e6 }, 'introduction_limit_reached'],
    ['introductions come before the ceiling', { usedIntroductions: 10, usedUnits: 1000 }, 'introduction_limit_reached'],
    ['the ceiling comes before the units', { usedIntroductions: 9, usedUnits: 1000 }, 'hard_limit_reached'],
    ['then the units', { usedIntroductions: 9, usedUnits: 100 }, 'budget_exhausted'],
  ])('%s', (_rule, standing, expected) => {
    expect(decide({ ...fresh, ...standing }, { units: 1, introduces: true }, allowances)).toEqual(expected)
  })

  test('a pair that was introduced needs no introduction', () => {
    expect(decide({ ...fresh, usedIntroductions: 10 }, { units: 1, introduces: false }, allowances)).toEqual({
      credits: 0,
    })
  })
})

test('an operator may allow nothing at all', () => {
  const nothing = { freeUnits: 0, hardLimit: 0, introductions: 0 }
  expect(decide(fresh, { units: 1, introduces: false }, nothing)).toBe('hard_limit_reached')
  expect(decide({ ...fresh, creditBalance: 1 }, { units: 1, introduces: false }, { ...nothing, hardLimit: 1 })).toEqual(
    {
      credits: 1,
    },
  )
})

test('what is taken never exceeds the balance, the cost or the ceiling, and leaves no free unit unused', () => {
  const amount = fc.nat({ max: 50 })
  fc.assert(
    fc.property(
      amount,
      amount,
      amount,
      amount,
      amount,
      fc.integer({ min: 1, max: 20 }),
      (free, hard, used, drawn, balance, units) => {
        const standing = {
          usedUnits: used,
          creditsDrawn: Math.min(drawn, used),
          creditBalance: balance,
          usedIntroductions: 0,
        }
        const outcome = decide(
          standing,
          { units, introduces: false },
          { freeUnits: free, hardLimit: hard, introductions: 0 },
        )
        if (typeof outcome === 'string') return
        expect(outcome.credits).toBeGreaterThanOrEqual(0)
        expect(outcome.credits).toBeLessThanOrEqual(Math.min(balance, units))
        expect(used + units).toBeLessThanOrEqual(hard)
        const freeUsed = used + units - standing.creditsDrawn - outcome.credits
        if (outcome.credits > 0) expect(freeUsed).toBeGreaterThanOrEqual(free)
      },
    ),
  )
})
