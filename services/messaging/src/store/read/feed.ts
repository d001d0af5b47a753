import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'
import type { ListedRow } from '../../domain/pages.ts'
import { nowSeconds } from '../clock.ts'
import { hasId } from '../place.ts'
import { listedColumns } from './listed.ts'

interface FeedQuery {
  boardId: string
  /** The id of the thread's root. */
  threadId: string | null
  /** A position in the board's log. Posts after it are listed. */
  after: number
  /** At most this many rows. */
  limit: number
}

interface FeedRow extends ListedRow {
  /** The position in the board's log. */
  position: number
}

/**
 * Live posts of a board by position. A hidden post has no entry in the board's log while it is hidden. A post that is taken down
 * keeps its entry, which is skipped.
 */
export async function listFeed(sql: Sql, query: FeedQuery): Promise<FeedRow[]> {
  const { threadId } = query
  return sql<FeedRow[]>`
    select p.position, p.upvotes, ${listedColumns(sql, sql`p.position`)}
    from (${threadId === null ? entriesOf(sql, query, sql`true`) : threadOf(sql, query, threadId)}) p
    order by p.position`
}

/** The members of a thread and its root (spec 7.12). */
function threadOf(sql: Sql, query: FeedQuery, threadId: string): Fragment {
  return sql`
    (${entriesOf(sql, query, sql`e.thread_id = ${threadId}`)})
    union all
    (select m.position, m.upvotes, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where ${hasId(sql, threadId)} and m.thread_id is null and m.recipient = ${query.boardId} and m.lane = 'board'
      and not m.hidden and not m.taken_down and m.position > ${query.after} and m.expires_at > ${nowSeconds(sql)})
    order by position limit ${query.limit}`
}

function entriesOf(sql: Sql, { boardId, after, limit }: FeedQuery, which: Fragment): Fragment {
  return sql`
    select e.position, m.upvotes, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.entries e join messaging.messages m on m.place = e.message
    where e.log = ${boardId} and e.kind = 'board' and e.position > ${after} and e.expires_at > ${nowSeconds(sql)}
      and not m.taken_down and ${which}
    order by e.position limit ${limit}`
}
