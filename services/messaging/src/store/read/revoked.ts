import type { Sql } from '@svc/postgres/database.ts'

/** Unix milliseconds by the database's clock. */
export async function nowMs(sql: Sql): Promise<number> {
  const [row] = await sql<{ now_ms: number }[]>`
    select floor(extract(epoch from statement_timestamp()) * 1000)::bigint as now_ms`
  if (row === undefined) throw new Error('a select without a table returns one row')
  return row.now_ms
}

/** Agents that were revoked or suspended at or after a time in Unix milliseconds, and still are, at most `limit`. */
export async function listRevoked(sql: Sql, sinceMs: number, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select l.id from messaging.logs l
    where l.revoked_at is not null and l.revoked_at >= to_timestamp(${sinceMs}::bigint / 1000.0)
    union
    select l.id from messaging.logs l
    where l.suspended_at is not null and l.suspended_at >= to_timestamp(${sinceMs}::bigint / 1000.0)
      and l.suspended_until > statement_timestamp()
    limit ${limit}`
  return rows.map((row) => row.id)
}
