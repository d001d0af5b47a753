/** The refusals that `budget.refusal_of` returns (database/functions/refusal_of.sql), in the order of spec 7.2. */
const REFUSALS = ['introduction_limit_reached', 'hard_limit_reached', 'budget_exhausted'] as const
export type Refusal = (typeof REFUSALS)[number]

export function isRefusal(outcome: string): outcome is Refusal {
  return REFUSALS.some((refusal) => refusal === outcome)
}
