/** Queries of `svc admin verify`. Each reads ranges of whole tables on one snapshot (libs/postgres, report.ts). */
import type { Discrepancy } from '@svc/contracts/admin.ts'
import type { Tx } from '@svc/postgres/database.ts'

interface LogPage {
  checked: number
  last: string | null
}

/** The logs of a page. @returns how many there are, and the id of the last one if there may be more. */
export async function findLogPage(tx: Tx, after: string, limit: number): Promise<LogPage> {
  const [page] = await tx<LogPage[]>`
    select count(*) as checked, max(p.id) as last from (
      select l.id from messaging.logs l where l.id > ${after} order by l.id limit ${limit}
    ) p`
  const checked = page?.checked ?? 0
  return { checked, last: checked === limit ? (page?.last ?? null) : null }
}

interface LogRange {
  after: string
  last: string | null
  only: string | null
}

/**
 * Finds logs that break one of these rules. A position is used once and is at or below the head. Every entry has its message.
 * If nothing was ever purged, every position up to the head exists, except those of hidden posts in their board's log and those
 * that a raise of all heads has skipped. After a purge, positions may be missing.
 */
export async function findWrongLogs(tx: Tx, { after, last, only }: LogRange, limit: number): Promise<Discrepancy[]> {
  return tx<Discrepancy[]>`
    with purged as materialized (
      select exists (select from messaging.slots s where s.emptied_at is not null) as any
    ), held as (
      select l.id, l.head, l.skipped, e.entries, e.positions, e.highest, e.orphans,
        -- Only boards have posts. For an agent this would read everything that it has received.
        case when e.positions + l.skipped < l.head and l.id ~ '^[a-z0-9]{20,40}$' then (
          select count(*) from messaging.messages m where m.recipient = l.id and m.lane = 'board' and m.hidden
        ) else 0 end as hidden
      from messaging.logs l
      cross join lateral (
        select count(*) as entries, count(distinct e.position) as positions, coalesce(max(e.position), 0) as highest,
          count(*) filter (where m.place is null) as orphans
        from messaging.entries e left join messaging.messages m on m.place = e.message where e.log = l.id
      ) e
      where l.id > ${after} and (${last}::text is null or l.id <= ${last}) and (${only}::text is null or l.id = ${only})
    )
    select w.rule, w.id, null as day, w.expected, w.found from (
      select 'head of a log' as rule, h.id, h.head as expected, h.highest as found from held h where h.highest > h.head
      union all
      select 'positions taken once', h.id, h.positions, h.entries from held h where h.positions <> h.entries
      union all
      select 'entries of a log', h.id, h.head - h.skipped - h.hidden, h.positions from held h, purged p
      where h.positions + h.hidden > h.head - h.skipped or (not p.any and h.positions + h.hidden < h.head - h.skipped)
      union all
      select 'entries with their messages', h.id, 0, h.orphans from held h where h.orphans > 0
    ) w order by w.id, w.rule limit ${limit}`
}

export interface CheckedMessage {
  id: string
  digest: string
  sender: string
  recipient: string
  lane: 'inbox' | 'requests' | 'board'
  envelope: string
  batch: number
  ordinal: number
  /** Accepted recently enough that its charge is checked too. */
  recent: boolean
  /** For a post: how many agents have an event of it. */
  subscribers: number
  /** Its entries are at the positions that its row names; a hidden post has no entry in its board's log. */
  entered: boolean
}

export interface MessagePosition {
  sender: string
  batch: number
  ordinal: number
}

/** Live messages by sender and acceptance: those that `only` sent, or all. */
export async function listChecked(
  tx: Tx,
  { after, only, recentMs, limit }: { after: MessagePosition; only: string | null; recentMs: number; limit: number },
): Promise<CheckedMessage[]> {
  return tx<CheckedMessage[]>`
    select ${checked(tx, recentMs)} from messaging.messages m
    where (m.sender, m.batch, m.ordinal) > (${after.sender}, ${after.batch}::bigint, ${after.ordinal}::integer)
      and (${only}::text is null or m.sender = ${only})
    order by m.sender, m.batch, m.ordinal limit ${limit}`
}

/** The messages with these ids that still exist. */
export async function findChecked(tx: Tx, ids: readonly string[]): Promise<CheckedMessage[]> {
  return tx<CheckedMessage[]>`
    select ${checked(tx, 0)} from unnest(${[...ids]}::text[]) i (id)
    cross join lateral (select f.place from messaging.find_message(i.id) f) f
    join messaging.messages m on m.place = f.place`
}

/** Finds the messages that were ever accepted, as `<id>:<digest>`, including purged ones. */
export async function findAccepted(tx: Tx, messages: readonly { id: string; digest: string }[]): Promise<Set<string>> {
  const rows = await tx<{ key: string }[]>`
    select q.id || ':' || q.digest as key
    from unnest(
      ${messages.map(({ id }) => id)}::text[], ${messages.map(({ digest }) => digest)}::text[]
    ) q (id, digest)
    cross join messaging.id_secret s
    join messaging.ids i on i.key = messaging.id_key(q.id, s.secret)
      and i."check" >> 24 = messaging.id_check(decode(q.digest, 'hex'), '', s.secret) >> 24`
  return new Set(rows.map((row) => row.key))
}

function checked(tx: Tx, recentMs: number) {
  return tx`
    m.id, encode(m.digest, 'hex') as digest, m.sender, m.recipient, m.lane, m.envelope, m.batch, m.ordinal,
    m.accepted_at * 1000 > extract(epoch from statement_timestamp()) * 1000 - ${recentMs}::bigint as recent,
    case when m.lane = 'board' then (
      select count(*) from messaging.entries e where e.kind = 'board' and e.message = m.place and e.log <> m.recipient
    ) else 0 end as subscribers,
    exists (
      select from messaging.entries e
      where e.log = m.recipient and e.kind = m.lane and e.position = m.position and e.message = m.place
    ) <> m.hidden
    and (m.request_position is null or exists (
      select from messaging.entries e
      where e.log = m.recipient and e.kind = 'requests' and e.position = m.request_position and e.message = m.place
    )) as entered`
}
