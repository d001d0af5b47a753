import { type ReadonlySignal, signal } from '@preact/signals'
import type { Budget } from '@svc/contracts/resources.ts'
import type { AgentContext } from './context.ts'

export interface BudgetState {
  /** Undefined until it was read. */
  readonly now: ReadonlySignal<Budget | undefined>
  refresh(): Promise<void>
}

export function createBudget({ client, ended }: AgentContext): BudgetState {
  const now = signal<Budget | undefined>(undefined)
  return {
    now,
    async refresh() {
      now.value = await client.budget({ signal: ended })
    },
  }
}

/** Units that can still be spent today: free units and credits, but no more than the ceiling (spec 11.3). */
export function unitsLeft(budget: Budget): number {
  const { daily_free_units, daily_hard_limit, used_units, credit_balance } = budget
  const payable = Math.max(0, daily_free_units - used_units) + credit_balance
  return Math.max(0, Math.min(payable, daily_hard_limit - used_units))
}
