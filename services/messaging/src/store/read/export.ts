import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'
import type { ListedRow } from '../../domain/pages.ts'
import { nowSeconds } from '../clock.ts'
import { hasId } from '../place.ts'
import { listedColumns } from './listed.ts'

export interface ExportQuery {
  agentId: string
  /** The id of the thread's root. */
  threadId: string | null
  /** A place in the order of acceptance. Messages after it are exported. */
  after: { batch: number; ordinal: number }
  /** The result of `findSettledBatch`, or 0 if it was not called. */
  settled: number
  /** Boards whose posts are left out. */
  withoutBoards: readonly string[]
  /** At most this many rows. */
  limit: number
}

interface ExportRow extends ListedRow {
  batch: number
  ordinal: number
  /** The board of a post; null for a DM. */
  board: string | null
}

export interface ExportedPart {
  rows: ExportRow[]
  /** Every batch below it has ended, so no more rows will appear there. */
  horizon: number
  /** The newest committed batch at or past the horizon that has a message of the agent; null if there is none. */
  newest: number | null
}

interface Row extends Omit<ExportRow, 'ordinal'> {
  horizon: number
  newest: number | null
  /** Null in the single row that is returned if there are no messages. */
  ordinal: number | null
}

/**
 * Live messages that the agent sent or received, including its posts, in the order of acceptance. Leaves out hidden posts and
 * messages taken down.
 * Only the part of the order that is complete is read.
 *
 * A batch is the id of the transaction that accepted it, so batches become visible out of order. If a page went past a
 * batch that is still under way, that batch would later appear before the page's cursor and be missed (ADR 19). So each
 * page ends below the horizon: the oldest open transaction of any kind when the statement began, or `settled` if that
 * is higher.
 */
export async function listExport(sql: Sql, query: ExportQuery): Promise<ExportedPart> {
  const rows = await sql<Row[]>`
    with horizon as materialized (
      select greatest(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, ${query.settled}) as batch
    )
    select h.batch as horizon, greatest(
        (select max(m.batch) from messaging.messages m where m.sender = ${query.agentId} and m.batch >= (select batch from horizon)),
        (select max(m.batch) from messaging.messages m where m.recipient = ${query.agentId} and m.batch >= (select batch from horizon))
      ) as newest,
      p.batch, p.ordinal, p.board, p.upvotes, ${listedColumns(sql, sql`p.batch, p.ordinal`)}
    from horizon h
    left join (${query.threadId === null ? everything(sql, query) : threadOf(sql, query, query.threadId)}) p on true
    order by p.batch, p.ordinal`
  const [first] = rows
  if (first === undefined) throw new Error('the query returned no row, not even the horizon')
  return { rows: rows.filter(isMessage), horizon: first.horizon, newest: first.newest }
}

/**
 * A batch below which every append has ended, so that a later statement sees all of them. The oldest transaction is
 * such a bound too, but any long transaction in any database of the server holds it back. This bound depends on appends
 * alone.
 *
 * An append takes its advisory lock before its transaction gets an id, and releases it after its rows are visible. The
 * locks are read after the snapshot is taken. So an append with an id below the end of the snapshot either still holds
 * its lock then, or has ended. If an append holds the lock and shows no id yet, it may be getting one right now. Then
 * the answer is 0, which is always safe. Locks show only the low 32 bits of a transaction id; the full id is less than
 * 2^31 below the end of the snapshot.
 */
export async function findSettledBatch(sql: Sql): Promise<number> {
  const [row] = await sql<{ batch: number }[]>`
    with snapshot as materialized (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xmax)
    select case
        when bool_or(a.virtualtransaction is not null and x.transactionid is null) then 0
        else least(s.xmax, min(s.xmax - ((s.xmax - x.transactionid::text::bigint) & 4294967295)))
      end as batch
    from snapshot s
    left join pg_locks a on a.locktype = 'advisory' and a.objid = 7305001 and a.classid = 0 and a.objsubid = 1
      and a.database = (select d.oid from pg_database d where d.datname = current_database())
    left join pg_locks x on x.virtualtransaction = a.virtualtransaction
      and x.locktype = 'transactionid' and x.mode = 'ExclusiveLock' and x.granted
    group by s.xmax`
  if (row === undefined) throw new Error('the query returned no row, not even the end of the snapshot')
  return row.batch
}

function isMessage(row: Row): row is Row & { ordinal: number } {
  return row.ordinal !== null
}

/**
 * Two searches, each bounded by the limit. Both find a message that the agent sent to itself, so duplicates are
 * removed.
 */
function everything(sql: Sql, query: ExportQuery): Fragment {
  return sql`
    select distinct on (m.batch, m.ordinal) m.*
    from (
      (${ordered(sql, query, sql`m.sender = ${query.agentId}`)})
      union all
      (${ordered(sql, query, sql`m.recipient = ${query.agentId}`)})
    ) m
    order by m.batch, m.ordinal limit ${query.limit}`
}

/**
 * The members of a thread and its root (spec 7.12). All DMs of a thread have the same two participants. So the first DM
 * shows whether the agent is one of them, however long the thread is. In a thread on a board, an index finds the agent's
 * own posts.
 */
function threadOf(sql: Sql, query: ExportQuery, threadId: string): Fragment {
  const participant = sql`${query.agentId} in (m.sender, m.recipient)`
  const isParticipant = sql`(
    select m.lane <> 'board' and ${participant} from messaging.messages m
    where m.thread_id = ${threadId} order by m.batch, m.ordinal limit 1)`
  const authored = sql`m.sender = ${query.agentId} and m.thread_id = ${threadId} and m.lane = 'board'`
  return sql`
    select m.*
    from (
      (${ordered(sql, query, sql`m.thread_id = ${threadId} and m.lane <> 'board' and ${participant} and ${isParticipant}`)})
      union all
      (${ordered(sql, query, authored)})
      union all
      (${ordered(sql, query, sql`${hasId(sql, threadId)} and m.thread_id is null and ${participant}`)})
    ) m
    order by m.batch, m.ordinal limit ${query.limit}`
}

function ordered(sql: Sql, { after, withoutBoards, limit }: ExportQuery, which: Fragment): Fragment {
  return sql`
    select m.batch, m.ordinal, case m.lane when 'board' then m.recipient end as board, m.upvotes,
      m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where ${which} and (m.batch, m.ordinal) > (${after.batch}, ${after.ordinal}) and m.batch < (select batch from horizon)
      and m.expires_at > ${nowSeconds(sql)} and not m.hidden and not m.taken_down
      and not (m.lane = 'board' and m.recipient = any (${[...withoutBoards]}::text[]))
    order by m.batch, m.ordinal limit ${limit}`
}
