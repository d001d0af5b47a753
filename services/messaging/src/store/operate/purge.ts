import type { Sql, Tx } from '@svc/postgres/database.ts'
import { nowSeconds } from '../clock.ts'

/** Partitions that hold what expires, by number (messaging.slot_of). */
export const SLOTS = [0, 1, 2, 3, 4, 5, 6, 7] as const

/**
 * Empties the partitions of a slot if everything in them has expired. @returns whether anything was removed.
 * @param waitMs the longest wait for each lock. Senders wait behind it. @throws a lock timeout; nothing has changed then.
 */
export async function truncateSlot(
  sql: Sql | Tx,
  { slot, retentionSeconds, waitMs }: { slot: number; retentionSeconds: number; waitMs: number },
): Promise<boolean> {
  const [row] = await sql<{ emptied: boolean }[]>`
    select messaging.truncate_slot(${slot}::integer, ${retentionSeconds}::float8, ${waitMs}::integer) as emptied`
  return row?.emptied ?? false
}

/** Removes at most `limit` requests that expired unanswered. @returns how many. */
export async function purgePending(sql: Sql | Tx, limit: number): Promise<number> {
  const removed = await sql`
    with expired as materialized (
      select p.recipient, p.sender from messaging.pending p
      where p.expires_at <= ${nowSeconds(sql)}
      order by p.expires_at limit ${limit} for update skip locked
    )
    delete from messaging.pending p using expired x where p.recipient = x.recipient and p.sender = x.sender`
  return removed.count
}
