import type { Sql } from '@svc/postgres/database.ts'

export interface ReleaseItem {
  operation: string
  /** Of the attempt that was given up; a later one keeps what is held. */
  deadlineMs: number
}

/** Gives back what held reservations took; all others stay as they are. An operation occurs once. */
export async function releaseBatch(sql: Sql, items: readonly ReleaseItem[]): Promise<void> {
  const sorted = [...items].sort((a, b) => (a.operation < b.operation ? -1 : 1))
  await sql`
    select budget.release(
      ${sorted.map((item) => item.operation)}::text[],
      ${sorted.map((item) => item.deadlineMs)}::bigint[]
    )`
}
