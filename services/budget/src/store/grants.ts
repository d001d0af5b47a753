import type { Sql } from '@svc/postgres/database.ts'

export interface Grant {
  agentId: string
  units: number
  reference: string
}

export interface Granted {
  /** `repeated`: the same values before; `differs`: other values before, and nothing was granted. */
  outcome: 'granted' | 'repeated' | 'differs'
  creditBalance: number
}

export async function grantCredits(sql: Sql, { agentId, units, reference }: Grant): Promise<Granted> {
  const [row] = await sql<Granted[]>`
    select g.outcome, g.credit_balance as "creditBalance" from budget.grant_credits(${agentId}, ${units}, ${reference}) g`
  if (row === undefined) throw new Error('grant_credits answers one row')
  return row
}
