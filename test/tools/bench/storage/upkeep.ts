/**
 * What Postgres does for a message after it was accepted: vacuum. `TRUNCATE` of a partition is not measured, because its cost
 * does not depend on the number of rows.
 */
import type postgres from 'postgres'
import type { BenchSystem } from '../bench-system.ts'

/** Tables whose rows are only added, or are removed by TRUNCATE. */
const ADDED = [
  'messaging.messages',
  'messaging.entries',
  'messaging.ids',
  'budget.reservations',
  'identity.nonces',
] as const
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
  const [wal, cpu] = [await walPosition(sql), system.cpu().postgres ?? 0]
  for (const table of ADDED) await sql.unsafe(`vacuum ${table}`)
  return {
    ms: ((system.cpu().postgres ?? 0) - cpu) / messages,
    walBytes: ((await walPosition(sql)) - wal) / messages,
  }
}

async function walPosition(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ bytes: string }[]>`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`
  return Number(row?.bytes)
}
