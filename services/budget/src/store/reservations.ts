import type { OverdueReservation } from '@svc/contracts/budget.ts'
import type { Sql } from '@svc/postgres/database.ts'
import type { PendingQuery, Row } from 'postgres'

/** Held reservations of an owner that are past their deadline, oldest first. */
export async function listOverdue(sql: Sql, owner: string, limit: number): Promise<OverdueReservation[]> {
  return sql<OverdueReservation[]>`
    select r.operation, r.deadline_ms from budget.reservations r
    where r.state = 'held' and r.owner = ${owner}
      and r.deadline_ms < floor(extract(epoch from statement_timestamp()) * 1000)::bigint
    order by r.deadline_ms limit ${limit}`
}

/**
 * Removes settled reservations whose deadline passed `keptMs` ago. Their cost stays counted. If an attempt reserves such an
 * operation at this moment, it is still answered `settled`.
 */
export async function purgeSettled(sql: Sql, keptMs: number, limit: number): Promise<number> {
  const removed = await sql`
    with old as (
      select r.operation from budget.reservations r
      where r.state = 'settled' and r.deadline_ms < ${olderThan(sql, keptMs)}
      order by r.deadline_ms limit ${limit} for update skip locked
    )
    delete from budget.reservations r using old where r.operation = old.operation`
  return removed.count
}

/**
 * Like `purgeSettled`, for released reservations. An attempt may be reserving one of them anew, so this locks the account
 * first. Reservations whose account is locked wait for the next pass.
 */
export async function purgeReleased(sql: Sql, keptMs: number, limit: number): Promise<number> {
  const removed = await sql`
    with old as (
      select r.operation, r.agent_id from budget.reservations r
      where r.state = 'released' and r.deadline_ms < ${olderThan(sql, keptMs)}
      order by r.deadline_ms limit ${limit}
    ), locked as (
      select a.agent_id from budget.accounts a where a.agent_id in (select old.agent_id from old)
      order by a.agent_id for no key update skip locked
    )
    delete from budget.reservations r using old, locked
    where r.operation = old.operation and r.agent_id = locked.agent_id and r.state = 'released'`
  return removed.count
}

function olderThan(sql: Sql, ageMs: number): PendingQuery<Row[]> {
  return sql`floor(extract(epoch from statement_timestamp()) * 1000)::bigint - ${ageMs}::bigint`
}
