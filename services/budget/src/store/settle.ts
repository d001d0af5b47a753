import type { Sql } from '@svc/postgres/database.ts'

/**
 * Makes held reservations final and leaves all others as they are.
 * @param durable wait for the disk. Otherwise a crash of the database within the next second may undo it.
 * @returns how many of the operations had been released. Settling those breaks the protocol.
 */
export async function settleBatch(sql: Sql, operations: readonly string[], durable: boolean): Promise<number> {
  // Sorted, so that two batches which share operations lock them in the same order.
  const [row] = await sql<{ released: number }[]>`
    select budget.settle(${[...operations].sort()}::text[], ${durable}) as released`
  return row?.released ?? 0
}
