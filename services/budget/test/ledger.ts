/** Reads the tables directly, to compare the counters with the rows that they count. */
import type { Sql } from '@svc/postgres/database.ts'

interface LedgerDay {
  agentId: string
  /** Days since 1970-01-01. */
  day: number
  units: number
  credits: number
  introductions: number
}

/** The usage of agents with this id prefix on each day, including past days. */
export async function listDays(sql: Sql, prefix = ''): Promise<LedgerDay[]> {
  return sql<LedgerDay[]>`
    select agent_id as "agentId", day - '1970-01-01' as day,
      used_units as units, credits_drawn as credits, used_introductions as introductions
    from (
      select agent_id, day, used_units, credits_drawn, used_introductions from budget.past_days
      union all select agent_id, day, used_units, credits_drawn, used_introductions from budget.accounts
      where day > '-infinity'
    ) d
    where starts_with(agent_id, ${prefix}) and (used_units > 0 or used_introductions > 0)`
}

/**
 * Days whose counters differ from the sums of their rows, and balances that are not the grants less the credits drawn.
 * Works only before anything is purged.
 */
export async function listDiscrepancies(sql: Sql, prefix = ''): Promise<unknown[]> {
  const days = await sql`
    with days as (
      select agent_id, day, used_units, credits_drawn, used_introductions from budget.past_days
      union all select agent_id, day, used_units, credits_drawn, used_introductions from budget.accounts
    ), taken as (
      select agent_id, day, sum(units)::bigint as units, sum(credits)::bigint as credits
      from budget.reservations where state <> 'released' group by agent_id, day
    ), pairs as (
      select agent_id, day, count(*) as introductions from budget.introductions group by agent_id, day
    )
    select agent_id, day::text, d.used_units, t.units, d.credits_drawn, t.credits, d.used_introductions, p.introductions
    from days d full join taken t using (agent_id, day) full join pairs p using (agent_id, day)
    where starts_with(agent_id, ${prefix}) and (
      coalesce(d.used_units, 0) <> coalesce(t.units, 0) or coalesce(d.credits_drawn, 0) <> coalesce(t.credits, 0)
      or coalesce(d.used_introductions, 0) <> coalesce(p.introductions, 0)
    )`
  const balances = await sql`
    with issued as (
      select agent_id, sum(units)::bigint as units from budget.grants group by agent_id
    ), drawn as (
      select agent_id, sum(credits)::bigint as units from budget.reservations where state <> 'released' group by agent_id
    )
    select agent_id, a.credit_balance, i.units as issued, d.units as drawn
    from budget.accounts a left join issued i using (agent_id) left join drawn d using (agent_id)
    where starts_with(agent_id, ${prefix}) and a.credit_balance <> coalesce(i.units, 0) - coalesce(d.units, 0)`
  return [...days, ...balances]
}
