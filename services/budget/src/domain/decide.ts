/**
 * Whether an agent can pay for an operation, and with what: free units, then credits (spec 11.1), never past the ceiling
 * (spec 11.3), and an introduction for a first DM, which credits do not buy (spec 11.4, 11.5).
 *
 * This is the rule that `budget.reserve` (database/functions/reserve.sql) applies in the database, where deciding and
 * taking are one round trip under the account's lock. It stands here to be read and tested on its own; test/books.test.ts
 * holds the SQL against it.
 */

/** What every agent gets for each UTC day; the operator's to choose. */
export interface Allowances {
  freeUnits: number
  /** No credits pay for more than this. */
  hardLimit: number
  introductions: number
}

/** Where an agent stands on the day of the operation. */
export interface Standing {
  usedUnits: number
  /** Of the units used, those that credits paid for. */
  creditsDrawn: number
  creditBalance: number
  usedIntroductions: number
}

export interface Price {
  units: number
  /** It would be the first DM to that agent, and no other operation that waits has counted the pair. */
  introduces: boolean
}

/** In the order of spec 7.2: introductions, ceiling, units. */
export const REFUSALS = ['introduction_limit_reached', 'hard_limit_reached', 'budget_exhausted'] as const
export type Refusal = (typeof REFUSALS)[number]

export function isRefusal(outcome: string): outcome is Refusal {
  return REFUSALS.some((refusal) => refusal === outcome)
}

/** @returns the credits it takes, or the first reason to refuse it, in the order of `REFUSALS`. */
export function decide(standing: Standing, price: Price, allowances: Allowances): { credits: number } | Refusal {
  if (price.introduces && standing.usedIntroductions >= allowances.introductions) return 'introduction_limit_reached'
  if (standing.usedUnits + price.units > allowances.hardLimit) return 'hard_limit_reached'
  const credits = creditsFor(standing, price.units, allowances.freeUnits)
  return credits > standing.creditBalance ? 'budget_exhausted' : { credits }
}

/**
 * What the free units that are left do not cover. Units that credits paid for have not used the free allowance up: it is
 * there again where an operation that had used it was given back.
 */
function creditsFor({ usedUnits, creditsDrawn }: Standing, units: number, freeUnits: number): number {
  const freeLeft = Math.max(0, freeUnits - (usedUnits - creditsDrawn))
  return Math.max(0, units - freeLeft)
}
