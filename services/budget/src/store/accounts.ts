import type { Sql } from '@svc/postgres/database.ts'

/** An agent's budget today. */
interface AccountState {
  usedUnits: number
  usedIntroductions: number
  creditBalance: number
  /** The database's clock. */
  nowMs: number
}

/** Finds an agent's budget with one index lookup. An agent that was never charged has used nothing. */
export async function findAccountState(sql: Sql, agentId: string): Promise<AccountState> {
  const [row] = await sql<AccountState[]>`
    select
      coalesce(a.used_units, 0) as "usedUnits",
      coalesce(a.used_introductions, 0) as "usedIntroductions",
      coalesce(a.credit_balance, 0) as "creditBalance",
      floor(extract(epoch from c.instant) * 1000)::bigint as "nowMs"
    from (select statement_timestamp() as instant) c
    left join lateral (
      select a.credit_balance,
        case when a.day >= (c.instant at time zone 'UTC')::date then a.used_units end as used_units,
        case when a.day >= (c.instant at time zone 'UTC')::date then a.used_introductions end as used_introductions
      from budget.accounts a where a.agent_id = ${agentId}
    ) a on true`
  if (row === undefined) throw new Error('the left join returned no row')
  return row
}
