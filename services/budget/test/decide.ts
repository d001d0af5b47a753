/** The rule of `budget.refusal_of` and `budget.credits_for` in plain TypeScript, for the model. */
import type { Allowances } from '../src/domain/allowances.ts'
import type { Refusal } from '../src/domain/refusal-codes.ts'

/** The agent's used and remaining budget on the day of the operation. */
export interface Standing {
  usedUnits: number
  /** The used units that credits paid for. */
  creditsDrawn: number
  creditBalance: number
  usedIntroductions: number
}

export interface Price {
  units: number
  /** This would be the first DM of the pair, and no other pending operation has counted the pair. */
  introduces: boolean
}

/** @returns the credits that the operation takes, or the first reason to refuse it. */
export function decide(standing: Standing, price: Price, allowances: Allowances): { credits: number } | Refusal {
  if (price.introduces && standing.usedIntroductions >= allowances.introductions) return 'introduction_limit_reached'
  if (standing.usedUnits + price.units > allowances.hardLimit) return 'hard_limit_reached'
  const freeLeft = Math.max(0, allowances.freeUnits - (standing.usedUnits - standing.creditsDrawn))
  const credits = Math.max(0, price.units - freeLeft)
  return credits > standing.creditBalance ? 'budget_exhausted' : { credits }
}
