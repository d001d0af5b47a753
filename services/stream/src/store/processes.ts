import type { Sql } from '@svc/postgres/database.ts'

/** Reports that this process is alive, and how many more streams it can hold. */
export async function reportProcess(sql: Sql, id: string, room: number): Promise<void> {
  await sql`
    insert into stream.processes as p (id, room, seen_at) values (${id}, ${room}, clock_timestamp())
    on conflict (id) do update set room = excluded.room, seen_at = excluded.seen_at`
}

export async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql`delete from stream.processes p where p.id = ${id}`
}

/** Removes killed processes. */
export async function purgeProcesses(sql: Sql): Promise<void> {
  await sql`delete from stream.processes p where p.seen_at < clock_timestamp() - interval '1 minute'`
}

/** Finds other processes that recently reported room, the emptiest first. */
export async function findRoom(sql: Sql, id: string, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select p.id from stream.processes p
    where p.id <> ${id} and p.room > 0 and p.seen_at > clock_timestamp() - interval '10 seconds'
    order by p.room desc, p.id limit ${limit}`
  return rows.map((row) => row.id)
}
