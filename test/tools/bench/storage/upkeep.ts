/**
 * What Postgres does for a message after it was accepted: rows that are deleted after a day, and vacuum. `TRUNCATE` of a
 * partition is not measured, because its cost does not depend on the number of rows.
 */
import type postgres from 'postgres'
import type { BenchSystem } from '../bench-system.ts'

/** Tables whose rows are deleted, each with the order of their age. */
const DELETED = { 'messaging.outbox': 'id' } as const
/** Tables whose rows are only added, or are removed by TRUNCATE. */
const ADDED = [
  'messaging.messages',
  'messaging.entries',
  'messaging.ids',
  'budget.reservations',
  'identity.nonces',
] as const
/** Autovacuum begins when a fifth as many rows are dead as are live. */
const DELETED_SHARE = 1 / 6
const BATCH_ROWS = 1_000

/** For each message. */
interface Upkeep {
  readonly ms: number
  readonly walBytes: number
}

/** Postponed, so that no vacuum runs before it is measured. Statistics are still gathered. */
export async function postponeVacuum(sql: postgres.Sql): Promise<void> {
  await sql`alter system set autovacuum_vacuum_threshold = 100000000`
  await sql`alter system set autovacuum_vacuum_insert_threshold = -1`
  await sql`select pg_reload_conf()`
}

/** @param messages all that were stored since `postponeVacuum`. */
export async function measureUpkeep(sql: postgres.Sql, system: BenchSystem, messages: number): Promise<Upkeep> {
  const removal = await measure(sql, system, async () => {
    for (const [table, age] of Object.entries(DELETED)) await deleteOldest(sql, table, age)
    for (const table of Object.keys(DELETED)) await sql.unsafe(`vacuum ${table}`)
  })
  const addition = await measure(sql, system, async () => {
    for (const table of ADDED) await sql.unsafe(`vacuum ${table}`)
  })
  const each = (of: keyof Upkeep): number => (removal[of] / DELETED_SHARE + addition[of]) / messages
  return { ms: each('ms'), walBytes: each('walBytes') }
}

async function deleteOldest(sql: postgres.Sql, table: string, age: string): Promise<void> {
  const [found] = await sql.unsafe<{ rows: number }[]>(`select count(*)::int as rows from ${table}`)
  let left = Math.floor((found?.rows ?? 0) * DELETED_SHARE)
  for (; left > 0; left -= BATCH_ROWS) {
    const limit = Math.min(left, BATCH_ROWS)
    await sql.unsafe(
      `delete from ${table} where ctid = any (array(select ctid from ${table} order by ${age} limit ${limit}))`,
    )
  }
}

async function measure(sql: postgres.Sql, system: BenchSystem, work: () => Promise<void>): Promise<Upkeep> {
  const [wal, cpu] = [await walPosition(sql), system.cpu().postgres ?? 0]
  await work()
  return { ms: (system.cpu().postgres ?? 0) - cpu, walBytes: (await walPosition(sql)) - wal }
}

async function walPosition(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ bytes: string }[]>`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`
  return Number(row?.bytes)
}
