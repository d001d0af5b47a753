import { type ReadonlySignal, signal } from '@preact/signals'
import type { Budget } from '@svc/contracts/resources.ts'
import type { AgentContext } from './context.ts'

export class BudgetState {
  readonly #context: AgentContext
  readonly #now = signal<Budget | undefined>(undefined)
  /** Undefined until it was read. */
  readonly now: ReadonlySignal<Budget | undefined> = this.#now

  constructor(context: AgentContext) {
    this.#context = context
  }

  async refresh(): Promise<void> {
    this.#now.value = await this.#context.client.budget({ signal: this.#context.ended })
  }
}

/** Units that can still be spent today: free units and credits, but no more than the ceiling (spec 11.3). */
export function unitsLeft(budget: Budget): number {
  const { daily_free_units, daily_hard_limit, used_units, credit_balance } = budget
  const payable = Math.max(0, daily_free_units - used_units) + credit_balance
  return Math.max(0, Math.min(payable, daily_hard_limit - used_units))
}
