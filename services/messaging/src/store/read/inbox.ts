import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'
import type { ListedRow } from '../../domain/pages.ts'
import { nowSeconds } from '../clock.ts'
import { hasId } from '../place.ts'
import { listedColumns } from './listed.ts'

interface InboxQuery {
  agentId: string
  lane: 'inbox' | 'requests'
  unacked: boolean
  /** The id of the thread's root. */
  threadId: string | null
  /** Event cursor; messages after it are listed. */
  after: number
  /** At most this many rows. */
  limit: number
}

interface InboxRow extends ListedRow {
  /** Event cursor. */
  position: number
}

/** Live messages that are in a lane now and not taken down, in the order of their event cursors. Each filter has its own index. */
export async function listInbox(sql: Sql, query: InboxQuery): Promise<InboxRow[]> {
  return sql<InboxRow[]>`
    select p.position, ${listedColumns(sql, sql`p.position`)}
    from (${candidates(sql, query)}) p
    order by p.position`
}

function candidates(sql: Sql, query: InboxQuery): Fragment {
  if (query.threadId !== null) return threadOf(sql, query, query.threadId)
  return query.unacked ? unacked(sql, query) : lane(sql, query)
}

/** A promoted request keeps its older entry. It is listed only at the newer one, in the lane where it is now. */
function lane(sql: Sql, query: InboxQuery): Fragment {
  return sql`
    select e.position, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.entries e join messaging.messages m on m.place = e.message
    where e.log = ${query.agentId} and e.kind = ${query.lane} and e.position > ${query.after}
      and e.expires_at > ${nowSeconds(sql)} and m.lane = e.kind and not m.taken_down
    order by e.position limit ${query.limit}`
}

function unacked(sql: Sql, query: InboxQuery): Fragment {
  return sql`
    select m.position, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where m.recipient = ${query.agentId} and m.lane = ${query.lane} and m.lane <> 'board' and not m.acked
      and m.position > ${query.after} and m.expires_at > ${nowSeconds(sql)} and not m.taken_down
    order by m.position limit ${query.limit}`
}

/** The members of a thread, and its root if that is in this lane too (spec 7.12). */
function threadOf(sql: Sql, query: InboxQuery, threadId: string): Fragment {
  return sql`
    (${query.unacked ? unackedMembers(sql, query, threadId) : members(sql, query, threadId)})
    union all
    (select m.position, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where ${hasId(sql, threadId)} and m.thread_id is null and m.recipient = ${query.agentId} and m.lane = ${query.lane}
      and m.position > ${query.after} and m.expires_at > ${nowSeconds(sql)} and not m.taken_down
      and not (${query.unacked} and m.acked))
    order by position limit ${query.limit}`
}

function members(sql: Sql, query: InboxQuery, threadId: string): Fragment {
  return sql`
    select e.position, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.entries e join messaging.messages m on m.place = e.message
    where e.log = ${query.agentId} and e.thread_id = ${threadId} and e.kind = ${query.lane} and e.position > ${query.after}
      and e.expires_at > ${nowSeconds(sql)} and m.lane = e.kind and not m.taken_down
    order by e.position limit ${query.limit}`
}

function unackedMembers(sql: Sql, query: InboxQuery, threadId: string): Fragment {
  return sql`
    select m.position, m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where m.recipient = ${query.agentId} and m.thread_id = ${threadId} and m.lane = ${query.lane} and m.lane <> 'board'
      and not m.acked and m.position > ${query.after} and m.expires_at > ${nowSeconds(sql)} and not m.taken_down
    order by m.position limit ${query.limit}`
}
