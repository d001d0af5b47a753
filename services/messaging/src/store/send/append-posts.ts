import type { Batcher } from '@svc/batching/batcher.ts'
import { BUSY, createLockingBatcher, type LockWait } from '@svc/batching/locking-batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Database } from '@svc/postgres/database.ts'
import { isLockTimeout, retryOnConflict } from '@svc/postgres/errors.ts'
import type { CommittedPost } from '../../domain/accepted-events.ts'
import { openLogs } from '../logs.ts'
import { retryOnTakenId } from './retry-on-taken-id.ts'

/** A post that was judged, ready to be appended. */
export interface PostAppend {
  id: string
  /** SHA-256 of the JCS bytes, lower-case hex. */
  digest: string
  sender: string
  boardId: string
  /** Agents that get an entry, each once: the subscribers at the moment when the post was judged. */
  subscribers: readonly string[]
  threadId: string | null
  envelope: string
  /** Unix seconds of ts + ttl, null without a ttl. */
  expiryCap: number | null
  operation: string
  deadlineMs: number
  /** The trace of the request, which the published event continues. */
  traceparent?: string
}

/** The outcome for one post; database/functions/append_posts_within.sql defines each. */
export interface PostAppended {
  outcome: 'accepted' | 'duplicate' | 'conflict' | 'fenced'
}

interface AppendPostsOptions {
  database: Database
  retentionSeconds: number
  /** Called with the posts of one committed transaction, once their senders are being answered. Must not block or throw. */
  onCommitted: (posts: CommittedPost[]) => void
}

interface Row {
  outcome: PostAppended['outcome'] | 'busy'
  logs: string[] | null
  positions: number[] | null
}

/**
 * Maximum number of posts in one append. A post has up to 101 entries, because a board has at most 100 records (spec 8.7). So
 * an append has at most 808 entries, and holds their locks for milliseconds.
 */
const MAX_ITEMS = 8

/** Appends concurrent posts together, in one transaction and one round trip. */
export function createAppendPosts(options: AppendPostsOptions): Batcher<PostAppend, PostAppended> {
  return createLockingBatcher({
    name: 'messaging.append-posts',
    maxItems: MAX_ITEMS,
    // All items share the statement's snapshot, so two items with the same id would not see each other.
    keyOf: ({ id }) => id,
    lockOf: ({ boardId }) => boardId,
    isLockTimeout,
    unavailable: (reason) => new ServiceError('unavailable', { cause: new Error(reason) }),
    run: (items, wait) =>
      retryOnTakenId(items, async (some) => {
        const rows = await retryOnConflict(() => appendBatch(options, some, wait))
        failpoint('messaging.appended')
        // Answer the senders before publishing.
        setImmediate(publish, options, some, rows)
        return rows.map(({ outcome }) => (outcome === 'busy' ? BUSY : { outcome }))
      }),
  })
}

async function appendBatch(options: AppendPostsOptions, items: readonly PostAppend[], wait: LockWait): Promise<Row[]> {
  const logIds = [...new Set(items.flatMap(({ boardId, subscribers }) => [boardId, ...subscribers]))]
  const rows = await callAppendPosts(options, items, logIds, wait)
  if (rows.length > 0) return rows
  await options.database.run((sql) => openLogs(sql, logIds, wait.waitMs))
  return callAppendPosts(options, items, logIds, wait)
}

function callAppendPosts(
  { database, retentionSeconds }: AppendPostsOptions,
  items: readonly PostAppend[],
  logIds: string[],
  { waitMs, skipBusy }: LockWait,
): Promise<Row[]> {
  return database.run(
    (sql) => sql<Row[]>`
    select a.outcome, a.logs, a.positions
    from messaging.append_posts_within(
      log_ids => ${logIds}::text[],
      ids => ${items.map((item) => item.id)}::text[],
      digests => ${items.map((item) => item.digest)}::text[],
      senders => ${items.map((item) => item.sender)}::text[],
      boards => ${items.map((item) => item.boardId)}::text[],
      threads => ${items.map((item) => item.threadId)}::text[],
      envelopes => ${items.map((item) => item.envelope)}::text[],
      expiry_caps => ${items.map((item) => item.expiryCap)}::bigint[],
      operations => ${items.map((item) => item.operation)}::text[],
      deadlines_ms => ${items.map((item) => item.deadlineMs)}::bigint[],
      fan_ords => ${items.flatMap(({ subscribers }, index) => subscribers.map(() => index + 1))}::bigint[],
      fan_logs => ${items.flatMap(({ subscribers }) => subscribers)}::text[],
      retention_seconds => ${retentionSeconds}::float8,
      lock_wait_ms => ${waitMs}::integer,
      skip_busy => ${skipBusy}::boolean
    ) a order by a.ord`,
  )
}

function publish(options: AppendPostsOptions, items: readonly PostAppend[], rows: Row[]): void {
  const posts = rows.flatMap(({ logs, positions }, index): CommittedPost[] => {
    const item = items[index]
    if (item === undefined || logs === null || positions === null) return []
    const entries = logs.map((log, at) => ({ log, position: positions[at] ?? 0 }))
    return [{ id: item.id, boardId: item.boardId, entries, traceparent: item.traceparent }]
  })
  if (posts.length > 0) options.onCommitted(posts)
}
