import type { Sql } from '@svc/postgres/database.ts'

/** A process that has not reported for this long is removed, with its leases. So a killed process blocks slots for little longer. */
export const SILENCE_SECONDS = 10

/**
 * Reports that this process is alive, and how many more streams it can hold.
 * @returns false if the process had no row: it is new, or it was removed and has no lease any more.
 */
export async function reportProcess(sql: Sql, id: string, room: number): Promise<boolean> {
  const rows = await sql<{ is_new: boolean }[]>`
    insert into stream.processes as p (id, room, seen_at) values (${id}, ${room}, clock_timestamp())
    on conflict (id) do update set room = excluded.room, seen_at = excluded.seen_at
    returning xmax = 0 as is_new`
  return rows[0]?.is_new === false
}

/** Removes a process and its leases. */
export async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql`delete from stream.processes p where p.id = ${id}`
}

/** Removes processes that no longer report, and their leases. Processes that report at this moment are skipped. */
export async function purgeProcesses(sql: Sql): Promise<void> {
  await sql`
    delete from stream.processes p where p.id = any (array(
      select o.id from stream.processes o
      where o.seen_at < clock_timestamp() - make_interval(secs => ${SILENCE_SECONDS}) for update skip locked
    ))`
}

/** Finds other processes that recently reported room, the emptiest first. */
export async function findRoom(sql: Sql, id: string, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select p.id from stream.processes p
    where p.id <> ${id} and p.room > 0
      and p.seen_at > clock_timestamp() - make_interval(secs => ${SILENCE_SECONDS})
    order by p.room desc, p.id limit ${limit}`
  return rows.map((row) => row.id)
}
