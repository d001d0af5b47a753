import type { Sql } from '@svc/postgres/database.ts'

/**
 * Makes held reservations final; all others stay as they are.
 * @param durable wait for the disk; otherwise a crash of the database in the second after may undo it.
 * @returns how many of them had been given back, which no owner that keeps the protocol ever settles.
 */
export async function settleBatch(sql: Sql, operations: readonly string[], durable: boolean): Promise<number> {
  // Sorted, so that two batches that share operations meet in one order.
  const [row] = await sql<{ released: number }[]>`
    select budget.settle(${[...operations].sort()}::text[], ${durable}) as released`
  return row?.released ?? 0
}
