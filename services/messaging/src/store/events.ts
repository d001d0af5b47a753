import type { Lane } from '@svc/contracts/resources.ts'
import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'
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
  /** The oldest live event, the next one to come where there is none (decisions 51). */
  earliest: number
}

interface Row extends Omit<EventRow, 'position'> {
  examined: number
  earliest: number
  /** Null in the one row that says there are none. */
  position: number | null
}

/** Cursors that one call examines at most, from the first entry behind `after`: what is skipped must not make it endless. */
export const MAX_EXAMINED = 10_000

/**
 * Live events in the order of their cursors, without hidden posts. Positions become visible in order, since an append holds the lock of the
 * log's row until it commits: in one snapshot nothing at or below `head` is missing but what was purged.
 */
export async function listEvents(sql: Sql, query: EventsQuery): Promise<EventsPart> {
  const { agentId, after, withoutBoards, limit } = query
  const first = (kind: Fragment): Fragment => sql`(
    select min(e.position) from messaging.entries e
    where e.log = ${agentId} and e.kind = ${kind} and e.position > ${after})`
  const firstLive = (kind: Fragment): Fragment => sql`(
    select min(e.position) from messaging.entries e
    where e.log = ${agentId} and e.kind = ${kind} and e.expires_at > ${nowSeconds(sql)})`
  const isLive = (kind: Fragment): Fragment => sql`
    e.log = ${agentId} and e.kind = ${kind} and e.position > ${after}
      and e.position <= (select examined from bounds) and e.expires_at > ${nowSeconds(sql)}`
  // Each kind is limited by itself: with one limit for all, the planner may read everything and sort it.
  const live = (kind: Fragment): Fragment => sql`(
    select e.kind, e.position, e.message from messaging.entries e
    where ${isLive(kind)}
    order by e.position limit ${limit})`
  const livePosts = sql`(
    select e.kind, e.position, e.message from messaging.entries e join messaging.messages m on m.id = e.message
    where ${isLive(sql`'board'`)} and not m.hidden and m.recipient <> all (${[...withoutBoards]}::text[])
    order by e.position limit ${limit})`
  const [inbox, requests, board] = [sql`'inbox'`, sql`'requests'`, sql`'board'`]

  const rows = await sql<Row[]>`
    with log as materialized (
      select coalesce((select l.head from messaging.logs l where l.id = ${agentId}), 0) as head
    ), bounds as materialized (
      select
        least(head, least(${first(inbox)}, ${first(requests)}, ${first(board)}) + ${MAX_EXAMINED - 1}) as examined,
        coalesce(least(${firstLive(inbox)}, ${firstLive(requests)}, ${firstLive(board)}), head + 1) as earliest
      from log
    )
    select b.examined, b.earliest, p.kind, p.position, p.board, p.upvotes, ${listedColumns(sql, sql`p.position`)}
    from bounds b
    left join (
      select e.kind, e.position, case m.lane when 'board' then m.recipient end as board, m.upvotes,
        m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
      from (${live(inbox)} union all ${live(requests)} union all ${livePosts}) e
      join messaging.messages m on m.id = e.message
      order by e.position limit ${limit}
    ) p on true
    order by p.position`
  const [bounds] = rows
  if (bounds === undefined) throw new Error('the bounds are always there')
  return { rows: rows.filter(isEvent), examined: bounds.examined, earliest: bounds.earliest }
}

function isEvent(row: Row): row is Row & { position: number } {
  return row.position !== null
}
