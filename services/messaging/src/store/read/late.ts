import type { Sql } from '@svc/postgres/database.ts'

/** Entries of one log that may not be published yet. */
interface LateLog {
  agent_id: string
  head: number
}

/**
 * The logs of outbox rows that are unpublished and whose lease ends within `leaseSeconds`, and the last of their positions.
 * @returns undefined if there are more rows than `maxRows` or more entries than `maxEntries`.
 */
export async function listLate(
  sql: Sql,
  leaseSeconds: number,
  { maxRows, maxEntries }: { maxRows: number; maxEntries: number },
): Promise<LateLog[] | undefined> {
  const rows = await sql<{ logs: string[]; positions: number[] }[]>`
    select o.logs, o.positions from messaging.outbox o
    where o.published_at is null and o.leased_until < clock_timestamp() + make_interval(secs => ${leaseSeconds})
    order by o.leased_until limit ${maxRows + 1}`
  const entries = rows.reduce((sum, { logs }) => sum + logs.length, 0)
  if (rows.length > maxRows || entries > maxEntries) return undefined
  const heads = new Map<string, number>()
  for (const { logs, positions } of rows)
    logs.forEach((log, at) => void heads.set(log, Math.max(heads.get(log) ?? 0, positions[at] ?? 0)))
  return [...heads].map(([agent_id, head]) => ({ agent_id, head }))
}

/** Unix milliseconds by the database's clock. */
export async function nowMs(sql: Sql): Promise<number> {
  const [row] = await sql<{ now_ms: number }[]>`
    select floor(extract(epoch from statement_timestamp()) * 1000)::bigint as now_ms`
  if (row === undefined) throw new Error('a select without a table returns one row')
  return row.now_ms
}

/** Agents that were revoked at or after a time in Unix milliseconds, at most `limit`. */
export async function listRevoked(sql: Sql, sinceMs: number, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select l.id from messaging.logs l
    where l.revoked_at is not null and l.revoked_at >= to_timestamp(${sinceMs}::bigint / 1000.0)
    limit ${limit}`
  return rows.map((row) => row.id)
}
