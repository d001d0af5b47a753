/** Queries of `svc admin verify`. Each reads ranges of whole tables on one snapshot (libs/postgres, report.ts). */
import type { Charge, Discrepancy, Sum } from '@svc/contracts/admin.ts'
import type { ChargeOwner } from '@svc/contracts/budget.ts'
import type { Tx } from '@svc/postgres/database.ts'

/** Agents by id: those after `after`, up to and including `last` (null: to the end). If `only` is set, only that agent. */
interface AgentRange {
  after: string
  last: string | null
  only: string | null
}

/** The agents of a page. @returns how many there are, and the id of the last one if there may be more. */
export async function findAgentPage(
  tx: Tx,
  after: string,
  limit: number,
): Promise<{ count: number; last: string | null }> {
  const [page] = await tx<{ count: number; last: string | null }[]>`
    select count(*) as count, max(p.agent_id) as last from (
      select a.agent_id from budget.accounts a where a.agent_id > ${after} order by a.agent_id limit ${limit}
    ) p`
  const count = page?.count ?? 0
  return { count, last: count === limit ? (page?.last ?? null) : null }
}

/** A reservation that is held this long past its deadline is reported. Resolvers ask every 2 s, so it should be gone by then. */
const OVERDUE_MS = 60_000

/**
 * Checks all rules for one range of accounts. @returns at most `limit` discrepancies.
 * @param withUnits also check the units and credits of today, which reads all reservations.
 */
export async function findWrongAccounts(
  tx: Tx,
  range: AgentRange,
  withUnits: boolean,
  limit: number,
): Promise<Discrepancy[]> {
  const { after, last, only } = range
  const of = (column: string) => tx`(
    ${tx(column)} > ${after} and (${last}::text is null or ${tx(column)} <= ${last}) and (${only}::text is null or ${tx(column)} = ${only})
  )`
  return tx<Discrepancy[]>`
    with today as (
      select (statement_timestamp() at time zone 'UTC')::date as date
    ), days as (
      select d.agent_id, d.day, d.used_units, d.credits_drawn, d.used_introductions
      from budget.past_days d where ${of('d.agent_id')}
      union all
      select a.agent_id, a.day, a.used_units, a.credits_drawn, a.used_introductions
      from budget.accounts a where ${of('a.agent_id')} and a.day > '-infinity'
    ), taken as (
      -- All reservations of today still exist, because an ended one is kept for 25 hours.
      select r.agent_id, r.day, sum(r.units)::bigint as units, sum(r.credits)::bigint as credits
      from budget.reservations r, today t
      where ${withUnits}::boolean and ${of('r.agent_id')} and r.state <> 'released' and r.day >= t.date group by r.agent_id, r.day
    ), current_days as (
      select agent_id, day, coalesce(d.used_units, 0) as used_units, coalesce(t.units, 0) as units,
        coalesce(d.credits_drawn, 0) as credits_drawn, coalesce(t.credits, 0) as credits
      from (select d.* from days d, today t where ${withUnits}::boolean and d.day >= t.date) d full join taken t using (agent_id, day)
    ), introduced as (
      select i.agent_id, i.day, count(*) as pairs from budget.introductions i where ${of('i.agent_id')}
      group by i.agent_id, i.day
    ), introductions as (
      select agent_id, day, coalesce(d.used_introductions, 0) as used, coalesce(i.pairs, 0) as pairs
      from days d full join introduced i using (agent_id, day), today t
      -- A missing day was archived, unless it is a recent one.
      where d.agent_id is not null or day >= t.date - 1
    ), issued as (
      select g.agent_id, sum(g.units)::bigint as units from budget.grants g where ${of('g.agent_id')} group by g.agent_id
    ), drawn as (
      select d.agent_id, sum(d.credits_drawn)::bigint as credits from days d group by d.agent_id
    ), balances as (
      select agent_id, coalesce(a.credit_balance, 0) as balance, coalesce(i.units, 0) - coalesce(d.credits, 0) as due
      from (select a.agent_id, a.credit_balance from budget.accounts a where ${of('a.agent_id')}) a
      full join issued i using (agent_id) left join drawn d using (agent_id)
    ), holders as (
      select r.agent_id, r.introduction_peer as peer, count(*) as holders from budget.reservations r
      where ${of('r.agent_id')} and r.state = 'held' and r.introduces group by r.agent_id, r.introduction_peer
    ), open_pairs as (
      select i.agent_id, i.peer, i.holders, coalesce(h.holders, 0) as held from budget.introductions i
      left join holders h on h.agent_id = i.agent_id and h.peer = i.peer
      where ${of('i.agent_id')} and not i.settled
    )
    select w.rule, w.id, w.day, w.expected, w.found from (
      select 'units of today' as rule, agent_id as id, day::text as day, units as expected, used_units as found
      from current_days where units <> used_units
      union all
      select 'credits drawn today', agent_id, day::text, credits, credits_drawn from current_days where credits <> credits_drawn
      union all
      select 'introductions', agent_id, day::text, pairs, used from introductions where pairs <> used
      union all
      select 'credit balance', agent_id, null, due, balance from balances where due <> balance
      union all
      select 'pairs that wait', agent_id, null, held, holders from open_pairs where held <> holders
      union all
      select 'overdue reservation', r.operation, null, null, r.deadline_ms from budget.reservations r
      where ${of('r.agent_id')} and r.state = 'held'
        and r.deadline_ms < extract(epoch from statement_timestamp()) * 1000 - ${OVERDUE_MS}::bigint
    ) w order by w.id, w.rule limit ${limit}`
}

/** Charges with deadlines older than this count as ended; later ones may still change. */
const ENDED_MS = 60_000

interface ChargeSums {
  checked: number
  sums: Sum[]
  untilMs: number
  day: string
  last: { deadlineMs: number; operation: string } | null
}

/** Sums the ended charges of today, one page by deadline and operation. Their deadlines are all after midnight. */
export async function sumEnded(
  tx: Tx,
  {
    after,
    untilMs,
    agentId,
    limit,
  }: {
    after: { deadlineMs: number; operation: string }
    untilMs: number | null
    agentId: string | null
    limit: number
  },
): Promise<ChargeSums> {
  const [clock] = await tx<{ day: string; midnight_ms: number; until_ms: number }[]>`
    select d.day::text as day, (extract(epoch from d.day at time zone 'UTC') * 1000)::bigint as midnight_ms,
      coalesce(${untilMs}::bigint, (extract(epoch from statement_timestamp()) * 1000)::bigint - ${ENDED_MS}::bigint) as until_ms
    from (select (statement_timestamp() at time zone 'UTC')::date::timestamp as day) d`
  if (clock === undefined) throw new Error('the clock query returned no row')
  const page = tx`
    select r.deadline_ms, r.operation, r.agent_id, r.units, r.credits, r.state, r.day from budget.reservations r
    where r.state <> 'held' and r.deadline_ms >= ${Math.max(clock.midnight_ms, after.deadlineMs)}::bigint
      and r.deadline_ms <= ${clock.until_ms}::bigint and (r.deadline_ms, r.operation) > (${after.deadlineMs}::bigint, ${after.operation})
    order by r.deadline_ms, r.operation limit ${limit}`
  const [end] = await tx<{ checked: number; deadline_ms: number | null; operation: string | null }[]>`
    select count(*) over () as checked, p.deadline_ms, p.operation from (${page}) p
    order by p.deadline_ms desc, p.operation desc limit 1`
  const sums = await tx<Sum[]>`
    select p.agent_id, sum(p.units)::bigint as units, sum(p.credits)::bigint as credits from (${page}) p
    where p.state = 'settled' and p.day = ${clock.day.slice(0, 10)}::date and (${agentId}::text is null or p.agent_id = ${agentId})
    group by p.agent_id`
  const checked = end?.checked ?? 0
  const isFull = checked === limit && end?.deadline_ms != null && end.operation !== null
  return {
    checked,
    sums,
    untilMs: clock.until_ms,
    day: clock.day.slice(0, 10),
    last: isFull ? { deadlineMs: Number(end.deadline_ms), operation: String(end.operation) } : null,
  }
}

/** The counters of today, less the charges that are held or have deadlines after `untilMs`. */
export async function findToday(
  tx: Tx,
  { after, last, only }: AgentRange,
  untilMs: number,
): Promise<{ day: string; sums: Sum[] }> {
  const sums = await tx<Sum[]>`
    with today as (
      select (statement_timestamp() at time zone 'UTC')::date as date
    ), late as (
      select r.agent_id, sum(r.units)::bigint as units, sum(r.credits)::bigint as credits from (
        select h.agent_id, h.units, h.credits, h.day from budget.reservations h where h.state = 'held'
        union all
        select d.agent_id, d.units, d.credits, d.day from budget.reservations d
        where d.state = 'settled' and d.deadline_ms > ${untilMs}::bigint
      ) r, today t where r.day = t.date group by r.agent_id
    )
    select a.agent_id, a.used_units - coalesce(l.units, 0) as units, a.credits_drawn - coalesce(l.credits, 0) as credits
    from budget.accounts a cross join today t left join late l on l.agent_id = a.agent_id
    where a.day = t.date and a.agent_id > ${after} and (${last}::text is null or a.agent_id <= ${last})
      and (${only}::text is null or a.agent_id = ${only})`
  const [clock] = await tx<{ day: string }[]>`select (statement_timestamp() at time zone 'UTC')::date::text as day`
  return { day: clock?.day ?? '', sums }
}

interface SettledCharge extends Charge {
  owner: ChargeOwner
  deadline_ms: number
}

/** Settled charges with deadlines later than `sinceMs` ago, by deadline and operation. */
export async function listSettled(
  tx: Tx,
  {
    sinceMs,
    after,
    agentId,
    limit,
  }: { sinceMs: number; after: { deadlineMs: number; operation: string }; agentId: string | null; limit: number },
): Promise<SettledCharge[]> {
  return tx<SettledCharge[]>`
    select r.owner, r.operation, r.agent_id, r.units, r.introduction_peer, r.deadline_ms from budget.reservations r
    where r.state = 'settled'
      and r.deadline_ms > (extract(epoch from statement_timestamp()) * 1000)::bigint - ${sinceMs}::bigint
      and (r.deadline_ms, r.operation) > (${after.deadlineMs}::bigint, ${after.operation})
      and (${agentId}::text is null or r.agent_id = ${agentId})
    order by r.deadline_ms, r.operation limit ${limit}`
}

/** The charges of these operations that are held or settled. */
export async function findCharges(tx: Tx, operations: readonly string[]): Promise<Charge[]> {
  return tx<Charge[]>`
    select r.operation, r.agent_id, r.units, r.introduction_peer
    from unnest(${[...operations]}::text[]) as u (operation) join budget.reservations r on r.operation = u.operation
    where r.state <> 'released'`
}

/** Whether each pair was introduced, in the order of `pairs`. */
export async function findIntroduced(tx: Tx, pairs: readonly { agent_id: string; peer: string }[]): Promise<boolean[]> {
  const rows = await tx<{ introduced: boolean }[]>`
    select i.agent_id is not null as introduced
    from unnest(${pairs.map((pair) => pair.agent_id)}::text[], ${pairs.map((pair) => pair.peer)}::text[])
      with ordinality u (agent_id, peer, ordinal)
    left join budget.introductions i on i.agent_id = u.agent_id and i.peer = u.peer
    order by u.ordinal`
  return rows.map((row) => row.introduced)
}
