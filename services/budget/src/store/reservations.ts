import type { OverdueReservation } from '@svc/contracts/budget.ts'
import type { Sql } from '@svc/postgres/database.ts'

/** Held reservations of an owner that are past their deadline, oldest first. */
export async function listOverdue(sql: Sql, owner: string, limit: number): Promise<OverdueReservation[]> {
  return sql<OverdueReservation[]>`
    select r.operation, r.deadline_ms from budget.reservations r
    where r.state = 'held' and r.owner = ${owner}
      and r.deadline_ms < floor(extract(epoch from statement_timestamp()) * 1000)::bigint
    order by r.deadline_ms limit ${limit}`
}

/** The partitions of reservations. budget.reserve writes to each in turn. */
export const SLOTS = [0, 1, 2] as const

/**
 * Empties a partition if no reservation in it is held, and the deadlines of all of them passed more than `keptMs` ago. Their
 * cost stays counted in the accounts.
 * @param waitMs the longest wait for the lock of the partition. Charges wait behind it.
 * @returns whether there was anything to remove. @throws a lock timeout; nothing has changed then.
 */
export async function truncateReservations(
  sql: Sql,
  { slot, keptMs, waitMs }: { slot: number; keptMs: number; waitMs: number },
): Promise<boolean> {
  const [row] = await sql<{ emptied: boolean }[]>`
    select budget.truncate_reservations(${slot}::integer, ${keptMs}::bigint, ${waitMs}::integer) as emptied`
  return row?.emptied ?? false
}
