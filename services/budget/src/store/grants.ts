import type { Sql, Tx } from '@svc/postgres/database.ts'

interface Grant {
  agentId: string
  units: number
  reference: string
}

interface Granted {
  /** `repeated`: the reference was used before with the same values. `differs`: with other values; nothing was granted. */
  outcome: 'granted' | 'repeated' | 'differs'
  creditBalance: number
}

export async function grantCredits(sql: Sql | Tx, { agentId, units, reference }: Grant): Promise<Granted> {
  const [row] = await sql<Granted[]>`
    select g.outcome, g.credit_balance as "creditBalance" from budget.grant_credits(${agentId}, ${units}, ${reference}) g`
  if (row === undefined) throw new Error('grant_credits returned no row')
  return row
}

/** Answers like `grantCredits`, but changes nothing. */
export async function previewGrant(sql: Sql, { agentId, units, reference }: Grant): Promise<Granted> {
  const [row] = await sql<Granted[]>`
    select
      case
        when g.reference is null then 'granted' when g.agent_id = ${agentId} and g.units = ${units}::bigint then 'repeated'
        else 'differs'
      end as outcome,
      coalesce(a.credit_balance, 0) + case when g.reference is null then ${units}::bigint else 0 end as "creditBalance"
    from (select 1) one
    left join budget.grants g on g.reference = ${reference}
    left join budget.accounts a on a.agent_id = ${agentId}`
  if (row === undefined) throw new Error('the left join returned no row')
  return row
}
