import { type AcceptedPost, acceptedMessageId, acceptedSubject } from '@svc/contracts/accepted.ts'
import type { Lane } from '@svc/contracts/resources.ts'
import type { Publication } from '@svc/nats/streams/stream-publisher.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import { eventText, messageText } from '../domain/event-text.ts'
import type { Place } from './place.ts'
import type { CommittedEntry } from './send/append.ts'
import type { CommittedPost } from './send/append-posts.ts'

/** An outbox row with its events. */
export interface OutboxRow {
  id: number
  events: Publication[]
}

/** Where JetStream stored a row's events. */
export interface PublishedRow {
  id: number
  /** The creation time of the stream that assigned the sequence. */
  epoch: string
  /** All of the row's events are stored at or below this sequence. */
  lastSequence: number
}

/**
 * Builds the row from what the committer has in memory, without reading it back.
 * @param acceptedMs When the commit was known.
 */
export function rowOf(id: number, entries: CommittedEntry[], acceptedMs: number): OutboxRow {
  return {
    id,
    events: entries.map(({ log, kind, position, envelope, acceptedAt, expiresAt, traceparent }) => ({
      ...eventOf(
        log,
        kind,
        position,
        messageText(envelope, { lane: kind, acceptedAt, expiresAt, acked: false, upvotes: 0 }),
      ),
      traceparent,
      acceptedMs,
    })),
  }
}

function eventOf(log: string, kind: Lane, position: number, message: string): Publication {
  return {
    subject: acceptedSubject(log, kind),
    messageId: acceptedMessageId(log, position),
    text: eventText(position, kind, message),
  }
}

/** Like `rowOf`, for posts: one event for each subscriber, with a reference to the post. */
export function rowOfPosts(id: number, posts: CommittedPost[], acceptedMs: number): OutboxRow {
  const events = posts.flatMap((post) =>
    post.entries.map(({ log, position }) => ({
      ...postEventOf(log, position, post),
      traceparent: post.traceparent,
      acceptedMs,
    })),
  )
  return { id, events }
}

function postEventOf(log: string, position: number, { id, boardId }: Omit<CommittedPost, 'entries'>): Publication {
  const event: AcceptedPost = { cursor: position, kind: 'board', post: { id, board_id: boardId } }
  return {
    subject: acceptedSubject(log, 'board'),
    messageId: acceptedMessageId(log, position),
    text: JSON.stringify(event),
  }
}

/** Adds one entry to the outbox. Only the committer publishes it until the lease ends. @returns the row's id. */
export async function insertOutbox(
  tx: Tx,
  entry: Pick<CommittedEntry, 'log' | 'kind' | 'position'> & { place: Place },
  leaseSeconds: number,
): Promise<number> {
  const [row] = await tx<{ id: number }[]>`
    insert into messaging.outbox (logs, kinds, positions, places, leased_until)
    values (
      array[${entry.log}], array[${entry.kind}], array[${entry.position}::bigint], array[${entry.place}::bigint],
      clock_timestamp() + make_interval(secs => ${leaseSeconds})
    )
    returning id`
  if (row === undefined) throw new Error('an insert returns its row')
  return row.id
}

interface LeasedRow {
  id: number
  eventCount: number
}

/** Leases unpublished rows that no process publishes now, oldest first. Rows that another process is leasing are skipped. */
export async function leaseOutbox(sql: Sql, limit: number, leaseSeconds: number): Promise<LeasedRow[]> {
  const rows = await sql<{ id: number; event_count: number }[]>`
    with due as (
      select id from messaging.outbox where published_at is null and leased_until < clock_timestamp()
      order by leased_until limit ${limit} for update skip locked
    )
    update messaging.outbox o set leased_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    from due where o.id = due.id returning o.id, cardinality(o.positions) as event_count`
  return rows.map((row) => ({ id: row.id, eventCount: row.event_count }))
}

interface EventRow {
  id: number
  log: string
  kind: Lane
  position: number
  message: string
  /** The board of a post; null for a DM. */
  board: string | null
  lane: Lane
  /** Null for a post, which is published as a reference. */
  envelope: string | null
  accepted_at: number
  expires_at: number
  acked: boolean
  accepted_ms: number
}

/** The rows with their events, as the messages are now. Messages purged since are left out. */
export async function findOutboxRows(sql: Sql, ids: number[]): Promise<OutboxRow[]> {
  const rows = await sql<EventRow[]>`
    select o.id, u.log, u.kind, u.position, m.id as message,
      case u.kind when 'board' then m.recipient end as board, m.lane,
      case when u.kind <> 'board' then m.envelope end as envelope, m.accepted_at, m.expires_at, m.acked,
      floor(extract(epoch from o.created_at) * 1000)::bigint as accepted_ms
    from messaging.outbox o
    cross join unnest(o.logs, o.kinds, o.positions, o.places) with ordinality as u (log, kind, position, place, ord)
    join messaging.messages m on m.place = u.place
    where o.id = any (${ids}::bigint[])
    order by o.id, u.ord`
  const byId = new Map<number, OutboxRow>(ids.map((id) => [id, { id, events: [] }]))
  for (const row of rows) byId.get(row.id)?.events.push(publicationOf(row))
  return [...byId.values()]
}

function publicationOf({ log, kind, position, message, board, envelope, ...row }: EventRow): Publication {
  const acceptedMs = row.accepted_ms
  if (board !== null) return { ...postEventOf(log, position, { id: message, boardId: board }), acceptedMs }
  if (envelope === null) throw new Error('a direct message is published with its envelope, but the query returned none')
  const state = { lane: row.lane, acceptedAt: row.accepted_at, expiresAt: row.expires_at, acked: row.acked, upvotes: 0 }
  return { ...eventOf(log, kind, position, messageText(envelope, state)), acceptedMs }
}

/**
 * Commits without waiting for the disk. If a crash undoes it, the events are published again and dropped as duplicates. A
 * process that was paused may come late, after another one published the row again: the higher sequence stays.
 */
export async function markPublished(sql: Sql, published: PublishedRow[]): Promise<void> {
  await sql`
    update messaging.outbox o
    set published_at = clock_timestamp(), epoch = p.epoch,
      last_sequence = case when o.epoch = p.epoch then greatest(o.last_sequence, p.last_sequence) else p.last_sequence end
    from unnest(
      ${published.map((p) => p.id)}::bigint[], ${published.map((p) => p.epoch)}::text[],
      ${published.map((p) => p.lastSequence)}::bigint[]
    ) as p (id, epoch, last_sequence)
    cross join (select set_config('synchronous_commit', 'off', true)) as commit_soon
    where o.id = p.id`
}

/** The search for the oldest row examines this many rows, starting with those whose leases end first. */
const OLDEST_OF = 1_000

/** Seconds since the commit of the oldest unpublished row; 0 if there is none. */
export async function oldestUnpublishedSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    select coalesce(greatest(extract(epoch from clock_timestamp() - min(o.created_at)), 0), 0)::float8 as seconds
    from (
      select created_at from messaging.outbox where published_at is null order by leased_until limit ${OLDEST_OF}
    ) o`
  return row?.seconds ?? 0
}

/** The state that the stream reports. */
interface StreamState {
  epoch: string
  lastSequence: number
}

/**
 * Rows that the stream does not know: another stream assigned their sequence, or it is past this stream's end. A row that was
 * marked after the state was read is found too, although the stream knows it.
 * @returns at most `limit` ids.
 */
export async function findForgotten(sql: Sql, { epoch, lastSequence }: StreamState, limit: number): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    (select id from messaging.outbox
    where published_at is not null and epoch = ${epoch} and last_sequence > ${lastSequence} limit ${limit})
    union
    (select id from messaging.outbox where published_at is not null and epoch < ${epoch} limit ${limit})
    union
    (select id from messaging.outbox where published_at is not null and epoch > ${epoch} limit ${limit})
    limit ${limit}`
  return rows.map((row) => row.id)
}

/** The rows of `findForgotten` whose sequences this stream assigned itself, past its end. @returns at most `limit` ids. */
export async function findBeyond(sql: Sql, { epoch, lastSequence }: StreamState, limit: number): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    select id from messaging.outbox
    where published_at is not null and epoch = ${epoch} and last_sequence > ${lastSequence} limit ${limit}`
  return rows.map((row) => row.id)
}

/** Makes those rows due again that a stream in this state does not know. @returns how many. */
export async function requeueForgotten(
  sql: Sql,
  ids: readonly number[],
  { epoch, lastSequence }: StreamState,
): Promise<number> {
  const rows = await sql`
    update messaging.outbox o
    set published_at = null, epoch = null, last_sequence = null, leased_until = '-infinity'
    where o.id = any (${[...ids]}::bigint[]) and o.published_at is not null
      and (o.epoch <> ${epoch} or o.last_sequence > ${lastSequence})
    returning o.id`
  return rows.length
}

/** Makes rows due again, whatever was marked. */
export async function requeue(sql: Sql, ids: readonly number[]): Promise<void> {
  await sql`
    update messaging.outbox set published_at = null, epoch = null, last_sequence = null, leased_until = '-infinity'
    where id = any (${[...ids]}::bigint[])`
}
