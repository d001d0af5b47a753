import { LIMITS } from '@svc/contracts/limits.ts'
import type { Sql } from '@svc/postgres/database.ts'

/** An unrenewed lease expires after this time, so a killed process blocks its agents' slots for no longer. */
export const LEASE_SECONDS = 10

/**
 * Takes a free slot of the agent. If two calls try the same slot at once, the second retries with another slot.
 * @returns false if all slots are taken (spec 9.8).
 */
export async function takeLease(sql: Sql, agentId: string, id: string): Promise<boolean> {
  for (let attempt = 0; attempt <= LIMITS.streamsPerIdentity; attempt += 1) {
    const rows = await sql`
      insert into stream.leases as l (agent_id, slot, id, expires_at)
      select ${agentId}, s.slot, ${id}, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
      from generate_series(1, ${LIMITS.streamsPerIdentity}::integer) s (slot)
      where not exists (
        select from stream.leases o
        where o.agent_id = ${agentId} and o.slot = s.slot and o.expires_at > clock_timestamp()
      )
      order by s.slot limit 1
      on conflict (agent_id, slot) do update set id = excluded.id, expires_at = excluded.expires_at
      where l.expires_at <= clock_timestamp()
      returning l.slot`
    if (rows.length > 0) return true
  }
  return false
}

/** @returns the leases that this process still holds. Another process may have taken a lease that had expired. */
export async function renewLeases(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    update stream.leases l set expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where l.id = any (${[...ids]}::uuid[]) returning l.id`
  return rows.map((row) => row.id)
}

export async function releaseLeases(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`delete from stream.leases l where l.id = any (${[...ids]}::uuid[])`
}

/** Removes leases that killed processes left behind. This only saves space: an expired lease is free already. */
export async function purgeLeases(sql: Sql): Promise<void> {
  await sql`
    delete from stream.leases l where l.ctid = any (array(
      select o.ctid from stream.leases o where o.expires_at < clock_timestamp() - interval '1 minute'
      limit 1000 for update skip locked
    ))`
}
