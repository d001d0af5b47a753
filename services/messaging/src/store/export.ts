import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'
import type { ListedRow } from '../domain/pages.ts'
import { nowSeconds } from './clock.ts'
import { listedColumns } from './listed.ts'

export interface ExportQuery {
  agentId: string
  /** Of the root. */
  threadId: string | null
  /** Place by acceptance; messages behind it are exported. */
  after: { batch: number; ordinal: number }
  /** From `findSettledBatch`, 0 where that was not asked. */
  settled: number
  /** Boards whose posts are passed over. */
  withoutBoards: readonly string[]
  /** Rows at most. */
  limit: number
}

export interface ExportRow extends ListedRow {
  batch: number
  ordinal: number
  /** Of a post; null for a DM. */
  board: string | null
}

export interface ExportedPart {
  rows: ExportRow[]
  /** Every batch below it has ended: nothing will appear there any more. */
  horizon: number
  /** The newest committed batch with a message of the agent at or past the horizon; null where there is none. */
  newest: number | null
}

interface Row extends Omit<ExportRow, 'ordinal'> {
  horizon: number
  newest: number | null
  /** Null in the one row that says there are none. */
  ordinal: number | null
}

/**
 * Live messages that the agent sent or received, its posts among them that are not hidden, by acceptance, in the part of
 * that order which is complete.
 *
 * A batch is the id of the transaction that accepted it, so batches become visible out of order: a page that went past
 * one under way would hand out a cursor behind which it appears later (ADR 19). So no page reaches the horizon:
 * the oldest transaction of any kind that had not ended when the statement began, or `settled` where that is further.
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
  if (first === undefined) throw new Error('the horizon is always there')
  return { rows: rows.filter(isMessage), horizon: first.horizon, newest: first.newest }
}

/**
 * A batch below which every append had ended, so that a later statement sees all of them. Other than the oldest
 * transaction it does not wait for what has nothing to do with messages, in any database of the server.
 *
 * An append takes its advisory lock before its transaction gets an id, and lets it go after it has become visible. So one
 * with an id below the snapshot's end either holds the lock when the locks are read, which is after, or has ended. One
 * that holds it and shows no id may be just getting one, and nothing is said then: 0. Locks
 * show the low 32 bits of a transaction's id; it lies less than 2^31 before the end.
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
  if (row === undefined) throw new Error('the end of the snapshot is always there')
  return row.batch
}

function isMessage(row: Row): row is Row & { ordinal: number } {
  return row.ordinal !== null
}

/** Two searches, each bounded by the limit. What the agent sent to itself is found by both and stays once. */
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
 * The members of a thread and its root (spec 7.12). Those of a thread of DMs all have the same two participants, so one
 * look at the first of them tells a stranger from them, however long the thread is; of a thread on a board those are found
 * by an index that the agent wrote.
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
      (${ordered(sql, query, sql`m.id = ${threadId} and m.thread_id is null and ${participant}`)})
    ) m
    order by m.batch, m.ordinal limit ${query.limit}`
}

function ordered(sql: Sql, { after, withoutBoards, limit }: ExportQuery, which: Fragment): Fragment {
  return sql`
    select m.batch, m.ordinal, case m.lane when 'board' then m.recipient end as board, m.upvotes,
      m.lane, m.accepted_at, m.expires_at, m.acked, m.envelope
    from messaging.messages m
    where ${which} and (m.batch, m.ordinal) > (${after.batch}, ${after.ordinal}) and m.batch < (select batch from horizon)
      and m.expires_at > ${nowSeconds(sql)} and not m.hidden
      and not (m.lane = 'board' and m.recipient = any (${[...withoutBoards]}::text[]))
    order by m.batch, m.ordinal limit ${limit}`
}
