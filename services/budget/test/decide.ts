/** The rule of `budget.refusal_of` and `budget.credits_for` as one would write it without a database; the model's part of it. */
import type { Allowances } from '../src/domain/allowances.ts'
import type { Refusal } from '../src/domain/refusal.ts'

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

/** @returns the credits it takes, or the first reason to refuse it. */
export function decide(standing: Standing, price: Price, allowances: Allowances): { credits: number } | Refusal {
  if (price.introduces && standing.usedIntroductions >= allowances.introductions) return 'introduction_limit_reached'
  if (standing.usedUnits + price.units > allowances.hardLimit) return 'hard_limit_reached'
  const freeLeft = Math.max(0, allowances.freeUnits - (standing.usedUnits - standing.creditsDrawn))
  const credits = Math.max(0, price.units - freeLeft)
  return credits > standing.creditBalance ? 'budget_exhausted' : { credits }
}
