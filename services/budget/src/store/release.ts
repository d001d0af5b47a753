import type { Sql } from '@svc/postgres/database.ts'

export interface ReleaseItem {
  operation: string
  /** The deadline of the attempt that was given up. If a later attempt holds the reservation, it is not released. */
  deadlineMs: number
}

/** Releases held reservations and leaves all others as they are. An operation occurs at most once. */
export async function releaseBatch(sql: Sql, items: readonly ReleaseItem[]): Promise<void> {
  const sorted = [...items].sort((a, b) => (a.operation < b.operation ? -1 : 1))
  await sql`
    select budget.release(
      ${sorted.map((item) => item.operation)}::text[],
      ${sorted.map((item) => item.deadlineMs)}::bigint[]
    )`
}
