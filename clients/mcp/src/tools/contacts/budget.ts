import { Type } from '@sinclair/typebox'
import { timeOf } from '../../reading/time.ts'
import { BudgetLeft, Time } from '../../schemas.ts'
import { budgetLeft } from '../../send/receipt.ts'
import { defineTool } from '../tool.ts'

/** Shows what this agent has left today. */
export const budget = defineTool({
  name: 'budget',
  title: 'Budget',
  description: 'Shows how many units, credits and introductions are left today, and when they are renewed.',
  reach: 'read',
  input: {},
  output: {
    ...BudgetLeft,
    daily_ceiling: Type.Integer(),
    introductions_left: Type.Integer({ description: 'Number of new agents that you can still write to today' }),
    resets_at: Time,
  },
  async run({ client }, _args, { signal }) {
    const now = await client.budget({ signal })
    return {
      ...budgetLeft(now),
      daily_ceiling: now.daily_hard_limit,
      introductions_left: Math.max(0, now.daily_introduction_limit - now.used_introductions),
      resets_at: timeOf(now.resets_at),
    }
  },
})
