/** Compares the database of budget with the databases of the services that charge (ADR 21). */
import type postgres from 'postgres'
import { eventually } from '../eventually.ts'

/** An attempt may take 10 s, and the resolver runs every 2 s (libs/charging). The rest of the time is for a busy machine. */
const RESOLVED_LIMIT_MS = 50_000

/** Waits until every attempt is settled or released. @param admin a connection of the superuser. */
export async function untilResolved(admin: postgres.Sql): Promise<void> {
  const what = 'every reservation being resolved'
  await eventually(async () => (await admin`select from budget.reservations where state = 'held'`).length === 0, {
    timeoutMs: RESOLVED_LIMIT_MS,
    what,
  })
}

/** @returns operations with a charge but no effect, or an effect but no charge, and accounts that differ from the sum of their charges. */
export async function findWrongBooks(admin: postgres.Sql): Promise<unknown[]> {
  const operations = await admin`
    with effects as (
      select 'messaging:message:' || m.id || ':' || encode(m.digest, 'hex') as operation from messaging.messages m
      union all select o.id from messaging.operations o where o.committed
      union all select o.id from identity.operations o where o.committed
      union all select o.id from boards.operations o where o.committed
      union all select o.id from webhook.operations o where o.committed
    ), charges as (
      select r.operation from budget.reservations r where r.state <> 'released'
    )
    select e.operation as effect, c.operation as charge from effects e full join charges c on e.operation = c.operation
    where e.operation is null or c.operation is null`
  const accounts = await admin`
    select a.agent_id, a.used_units, a.used_introductions, a.credits_drawn
    from budget.accounts a
    cross join lateral (
      select coalesce(sum(r.units), 0) as units, coalesce(sum(r.credits), 0) as credits
      from budget.reservations r where r.agent_id = a.agent_id and r.state = 'settled'
    ) r
    cross join lateral (
      select count(*) as introductions from budget.introductions i where i.agent_id = a.agent_id and i.settled
    ) i
    where (a.used_units, a.used_introductions, a.credits_drawn) is distinct from (r.units, i.introductions, r.credits)`
  return [...operations, ...accounts]
}
