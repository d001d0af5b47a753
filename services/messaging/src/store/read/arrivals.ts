/** Inbox entries, which the webhook service compares with its jobs. */
import type { Sql } from '@svc/postgres/database.ts'
import type { ListedRow } from '../../domain/pages.ts'
import { nowSeconds } from '../clock.ts'
import { listedColumns } from './listed.ts'

interface Arrivals {
  /** The inbox entries are complete up to this position. */
  through: number
  entries: { cursor: number; message_id: string }[]
}

interface Row {
  log: number
  head: number
  cursor: number | null
  message_id: string | null
}

/** Lists at most `limit` inbox entries after a position, for each log. */
export async function listArrivals(
  sql: Sql,
  logs: readonly { agent_id: string; after: number }[],
  limit: number,
): Promise<Arrivals[]> {
  const rows = await sql<Row[]>`
    select u.ordinal as log, l.head, e.position as cursor, e.id as message_id
    from unnest(
      ${logs.map(({ agent_id }) => agent_id)}::text[], ${logs.map(({ after }) => after)}::bigint[]
    ) with ordinality u (id, after, ordinal)
    cross join lateral (
      select coalesce((select l.head from messaging.logs l where l.id = u.id), 0) as head
    ) l
    left join lateral (
      select e.position, m.id from messaging.entries e join messaging.messages m on m.place = e.message
      where l.head > u.after and e.log = u.id and e.kind = 'inbox' and e.position > u.after
      order by e.position limit ${limit}
    ) e on true
    order by u.ordinal, e.position`
  const found = logs.map(({ after }) => ({ after, head: 0, entries: [] as Arrivals['entries'] }))
  for (const { log, head, cursor, message_id } of rows) {
    const one = found[log - 1]
    if (one === undefined) continue
    one.head = head
    if (cursor !== null && message_id !== null) one.entries.push({ cursor, message_id })
  }
  return found.map(({ after, head, entries }) => ({
    through: entries.length < limit ? Math.max(head, after) : (entries.at(-1)?.cursor ?? after),
    entries,
  }))
}

interface ArrivalRow extends ListedRow {
  /** Its index in the request. */
  index: number
  cursor: number
}

/**
 * Reads the live messages of inbox entries, except those taken down, in the order of the request. Envelopes are read only as far
 * as they fit a page.
 */
export async function readArrivals(
  sql: Sql,
  entries: readonly { agent_id: string; cursor: number }[],
): Promise<ArrivalRow[]> {
  return sql<ArrivalRow[]>`
    select p.ordinal - 1 as index, p.position as cursor, ${listedColumns(sql, sql`p.ordinal`)}
    from (
      select u.ordinal, e.position, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
      from unnest(
        ${entries.map(({ agent_id }) => agent_id)}::text[], ${entries.map(({ cursor }) => cursor)}::bigint[]
      ) with ordinality u (log, position, ordinal)
      join messaging.entries e on e.log = u.log and e.kind = 'inbox' and e.position = u.position
      join messaging.messages m on m.place = e.message
      where not m.taken_down and m.expires_at > ${nowSeconds(sql)}
    ) p
    order by p.ordinal`
}
