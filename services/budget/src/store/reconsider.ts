import type { Sql } from '@svc/postgres/database.ts'
import type { Allowances } from '../domain/allowances.ts'
import type { ReserveItem } from './reserve.ts'

/**
 * Finds out whether refused operations would still be refused if every held reservation were released. If so, the refusal is
 * final, because no outcome of the held reservations releases more than all of them. If not, the refusal depends on operations
 * that are still under way, so it is not decided yet.
 *
 * @returns for each item, in order, whether its refusal is final.
 */
export async function findFinal(
  sql: Sql,
  { freeUnits, hardLimit, introductions }: Allowances,
  items: readonly ReserveItem[],
): Promise<boolean[]> {
  const rows = await sql<{ final: boolean }[]>`
    select budget.refusal_of(
      units => i.units,
      introduces => i.peer is not null and p.agent_id is null,
      used_units => a.used_units - h.units_today,
      credits_drawn => a.credits_drawn - h.credits_today,
      credit_balance => a.credit_balance + h.credits,
      used_introductions => a.used_introductions - o.introductions,
      free_units => ${freeUnits}::bigint,
      hard_limit => ${hardLimit}::bigint,
      introduction_limit => ${introductions}::bigint
    ) is not null as final
    from unnest(
      ${items.map((item) => item.agentId)}::text[], ${items.map((item) => item.units)}::bigint[],
      ${items.map((item) => item.introductionPeer)}::text[]
    ) with ordinality as i (agent_id, units, peer, ord)
    join budget.accounts a on a.agent_id = i.agent_id
    left join budget.introductions p on p.agent_id = i.agent_id and p.peer = i.peer
    cross join lateral (
      select coalesce(sum(r.credits), 0)::bigint as credits,
        coalesce(sum(r.units) filter (where r.day = a.day), 0)::bigint as units_today,
        coalesce(sum(r.credits) filter (where r.day = a.day), 0)::bigint as credits_today
      from budget.reservations r where r.agent_id = i.agent_id and r.state = 'held'
    ) h
    cross join lateral (
      select count(*) as introductions
      from budget.introductions n where n.agent_id = i.agent_id and not n.settled and n.day = a.day
    ) o
    order by i.ord`
  return rows.map((row) => row.final)
}
