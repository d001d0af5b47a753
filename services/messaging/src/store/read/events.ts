import type { Lane } from '@svc/contracts/resources.ts'
import type { Sql } from '@svc/postgres/database.ts'
import type { ListedRow } from '../../domain/pages.ts'
import { nowSeconds } from '../clock.ts'
import { listedColumns } from './listed.ts'

interface EventsQuery {
  agentId: string
  /** Event cursor; events after it are listed. */
  after: number
  /** Boards whose posts are left out. */
  withoutBoards: readonly string[]
  /** At most this many rows. */
  limit: number
}

interface EventRow extends ListedRow {
  /** Event cursor. */
  position: number
  kind: Lane
  /** The board of a post; null for a DM. */
  board: string | null
}

interface EventsPart {
  rows: EventRow[]
  /** The last cursor that was examined; 0 if the log is empty. */
  examined: number
  /** The cursor of the oldest live event; if there is none, the cursor of the next event to come (spec 9.6). */
  earliest: number
  /** The last cursor ever appended, in the same snapshot as the rows; 0 if none ever was (spec 9.6). */
  latest: number
}

interface Row extends Omit<EventRow, 'position'> {
  examined: number
  earliest: number
  latest: number
  /** Null in the single row that is returned if there are no events. */
  position: number | null
}

/** One call examines at most this many cursors from the first entry after `after`, so skipped events cannot make it endless. */
export const MAX_EXAMINED = 10_000

/**
 * Live events in the order of their cursors, without hidden posts and messages taken down. An append locks the log's row until it
 * commits, so positions become visible in order. So in one snapshot, the only entries missing at or below `head` are purged ones.
 *
 * Each kind is searched and limited by itself. For one search over all kinds, the planner may read and sort everything.
 */
export async function listEvents(sql: Sql, query: EventsQuery): Promise<EventsPart> {
  const { agentId, after, withoutBoards, limit } = query
  const rows = await sql<Row[]>`
    with kinds as materialized (
      select k.kind, ${agentId}::text as log, ${after}::bigint as after, ${nowSeconds(sql)} as now
      from (values ('inbox'), ('requests'), ('board')) k (kind)
    ), log as materialized (
      select coalesce((select l.head from messaging.logs l where l.id = ${agentId}), 0) as head
    ), bounds as materialized (
      select
        least(l.head, min(f.first) + ${MAX_EXAMINED - 1}) as examined,
        coalesce(min(f.first_live), l.head + 1) as earliest,
        l.head as latest
      from log l
      cross join kinds k
      cross join lateral (
        select
          (select min(e.position) from messaging.entries e
          where e.log = k.log and e.kind = k.kind and e.position > k.after) as first,
          (select min(e.position) from messaging.entries e
          where e.log = k.log and e.kind = k.kind and e.expires_at > k.now) as first_live
      ) f
      group by l.head
    )
    select b.examined, b.earliest, b.latest, p.kind, p.position, p.board, p.upvotes, ${listedColumns(sql, sql`p.position`)}
    from bounds b
    left join (
      select k.kind, e.*
      from kinds k
      cross join lateral (
        select e.position, case m.lane when 'board' then m.recipient end as board, m.upvotes,
          m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
        from messaging.entries e join messaging.messages m on m.place = e.message
        where e.log = k.log and e.kind = k.kind and e.position > k.after
          and e.position <= (select examined from bounds) and e.expires_at > k.now
          and not m.hidden and not m.taken_down and m.recipient <> all (${[...withoutBoards]}::text[])
        order by e.position limit ${limit}
      ) e
      order by e.position limit ${limit}
    ) p on true
    order by p.position`
  const [bounds] = rows
  if (bounds === undefined) throw new Error('the query returned no row, not even the bounds')
  const { examined, earliest, latest } = bounds
  return { rows: rows.filter(isEvent), examined, earliest, latest }
}

function isEvent(row: Row): row is Row & { position: number } {
  return row.position !== null
}
