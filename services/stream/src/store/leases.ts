import { LIMITS } from '@svc/contracts/limits.ts'
import type { Sql } from '@svc/postgres/database.ts'

/** A lease that nobody renews is free after so long, so a killed process holds up nobody for more than 15 s. */
export const LEASE_SECONDS = 10

/**
 * Takes a free slot of the agent. Two that take the same one at once: the second finds it taken and tries again.
 * @returns false where all are taken (spec 9.8).
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

/** @returns those that are still this process's: one that had run out may have been taken by another. */
export async function renewLeases(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    update stream.leases l set expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where l.id = any (${[...ids]}::uuid[]) returning l.id`
  return rows.map((row) => row.id)
}

export async function releaseLeases(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`delete from stream.leases l where l.id = any (${[...ids]}::uuid[])`
}

/** Removes what killed processes have left. Nothing waits for it: what has run out is free. */
export async function purgeLeases(sql: Sql): Promise<void> {
  await sql`
    delete from stream.leases l where l.ctid = any (array(
      select o.ctid from stream.leases o where o.expires_at < clock_timestamp() - interval '1 minute'
      limit 1000 for update skip locked
    ))`
}
