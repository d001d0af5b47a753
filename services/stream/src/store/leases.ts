import { LIMITS } from '@svc/contracts/limits.ts'
import type { Sql } from '@svc/postgres/database.ts'

/**
 * Takes a free slot of the agent for a process. The lease lasts as long as the row of the process (store/processes.ts). If two
 * calls try the same slot at once, the second retries with another slot.
 * @returns false if all slots are taken (spec 9.8).
 * @throws if the process has no row: it was removed, because it did not report.
 */
export async function takeLease(sql: Sql, agentId: string, id: string, processId: string): Promise<boolean> {
  for (let attempt = 0; attempt <= LIMITS.streamsPerIdentity; attempt += 1) {
    const rows = await sql`
      insert into stream.leases as l (agent_id, slot, id, process)
      select ${agentId}, s.slot, ${id}, ${processId}
      from generate_series(1, ${LIMITS.streamsPerIdentity}::integer) s (slot)
      where not exists (
        select from stream.leases o
        where o.agent_id = ${agentId} and o.slot = s.slot
      )
      order by s.slot limit 1
      on conflict (agent_id, slot) do nothing
      returning l.slot`
    if (rows.length > 0) return true
  }
  return false
}

/** The leases that a process has in the database. */
export async function listLeases(sql: Sql, processId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select l.id from stream.leases l where l.process = ${processId}`
  return rows.map((row) => row.id)
}

export async function releaseLeases(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`delete from stream.leases l where l.id = any (${[...ids]}::uuid[])`
}
