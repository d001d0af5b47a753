import type { Lane } from '@svc/contracts/resources.ts'
import type { Sql } from '@svc/postgres/database.ts'
import type { ListedRow } from '../domain/pages.ts'
import { nowSeconds } from './clock.ts'
import { listedColumns } from './listed.ts'

export interface EventsQuery {
  agentId: string
  /** Event cursor; events behind it are listed. */
  after: number
  /** Boards whose posts are passed over. */
  withoutBoards: readonly string[]
  /** Rows at most. */
  limit: number
}

export interface EventRow extends ListedRow {
  /** Event cursor. */
  position: number
  kind: Lane
  /** Of a post; null for a DM. */
  board: string | null
}

export interface EventsPart {
  rows: EventRow[]
  /** The last cursor that was examined; 0 where the log is empty. */
  examined: number
  /** The oldest live event, the next one to come where there is none (spec 9.6). */
  earliest: number
  /** The last cursor ever appended, in the same snapshot as the rows; 0 if none ever was (spec 9.6). */
  latest: number
}

interface Row extends Omit<EventRow, 'position'> {
  examined: number
  earliest: number
  latest: number
  /** Null in the one row that says there are none. */
  position: number | null
}

/** Cursors that one call examines at most, from the first entry behind `after`: what is skipped must not make it endless. */
export const MAX_EXAMINED = 10_000

/**
 * Live events in the order of their cursors, without hidden posts. Positions become visible in order, since an append holds
 * the lock of the log's row until it commits: in one snapshot nothing at or below `head` is missing but what was purged.
 *
 * Each kind is searched and limited by itself: with one search for all, the planner may read everything and sort it.
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
        from messaging.entries e join messaging.messages m on m.id = e.message
        where e.log = k.log and e.kind = k.kind and e.position > k.after
          and e.position <= (select examined from bounds) and e.expires_at > k.now
          and not m.hidden and m.recipient <> all (${[...withoutBoards]}::text[])
        order by e.position limit ${limit}
      ) e
      order by e.position limit ${limit}
    ) p on true
    order by p.position`
  const [bounds] = rows
  if (bounds === undefined) throw new Error('the bounds are always there')
  const { examined, earliest, latest } = bounds
  return { rows: rows.filter(isEvent), examined, earliest, latest }
}

function isEvent(row: Row): row is Row & { position: number } {
  return row.position !== null
}
