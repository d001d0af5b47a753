import type { getBudget as getBudgetCall } from '@svc/contracts/budget.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BudgetDeps } from '../deps.ts'
import { nextMidnightMs } from '../domain/day.ts'
import { findAccountState } from '../store/accounts.ts'

/** The agent's budget of the current UTC day; the bonus of a vote is 0 (spec 11.6). */
export async function getBudget(
  { database, allowances }: Pick<BudgetDeps, 'database' | 'allowances'>,
  { agent_id }: RequestOf<typeof getBudgetCall>,
): Promise<ReplyOf<typeof getBudgetCall>> {
  const state = await database.run((sql) => findAccountState(sql, agent_id))
  return {
    daily_free_units: allowances.freeUnits,
    daily_hard_limit: allowances.hardLimit,
    used_units: state.usedUnits,
    credit_balance: state.creditBalance,
    used_introductions: state.usedIntroductions,
    daily_introduction_limit: allowances.introductions,
    resets_at: nextMidnightMs(state.nowMs) / 1000,
    vote_bonus: 0,
  }
}
