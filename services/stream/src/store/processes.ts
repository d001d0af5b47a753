import type { Sql } from '@svc/postgres/database.ts'

/** Says that this process is there, and how many more streams it can hold. */
export async function reportProcess(sql: Sql, id: string, room: number): Promise<void> {
  await sql`
    insert into stream.processes as p (id, room, seen_at) values (${id}, ${room}, clock_timestamp())
    on conflict (id) do update set room = excluded.room, seen_at = excluded.seen_at`
}

export async function removeProcess(sql: Sql, id: string): Promise<void> {
  await sql`delete from stream.processes p where p.id = ${id}`
}

/** Removes processes that were killed. */
export async function purgeProcesses(sql: Sql): Promise<void> {
  await sql`delete from stream.processes p where p.seen_at < clock_timestamp() - interval '1 minute'`
}

/** Other processes that had room a moment ago, the emptiest first. */
export async function findRoom(sql: Sql, id: string, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select p.id from stream.processes p
    where p.id <> ${id} and p.room > 0 and p.seen_at > clock_timestamp() - interval '10 seconds'
    order by p.room desc, p.id limit ${limit}`
  return rows.map((row) => row.id)
}
