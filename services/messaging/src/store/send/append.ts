import type { Batcher } from '@svc/batching/batcher.ts'
import { BUSY, createLockingBatcher, type LockWait } from '@svc/batching/locking-batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { InboxPolicy, Lane } from '@svc/contracts/resources.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Database } from '@svc/postgres/database.ts'
import { isLockTimeout, retryOnConflict } from '@svc/postgres/errors.ts'
import { textList } from '@svc/postgres/text-list.ts'
import type { CommittedEntry } from '../../domain/accepted-events.ts'
import type { Contact } from '../../domain/admission.ts'
import { openLogs } from '../logs.ts'
import { retryOnTakenId } from './retry-on-taken-id.ts'

/** A message that was judged, with the settings that the decision is based on. */
export interface Append {
  id: string
  /** SHA-256 of the JCS bytes, lower-case hex. */
  digest: string
  sender: string
  recipient: string
  lane: Lane
  threadId: string | null
  envelope: string
  /** Unix seconds of ts + ttl, null without a ttl. */
  expiryCap: number | null
  /** The decision is based on this policy and contact state of the recipient, at this version of its log. */
  policy: InboxPolicy
  contact: Contact
  standingVersion: number
  operation: string
  deadlineMs: number
  /** The trace of the request, which the published event continues. */
  traceparent?: string
}

/** The outcome for one message; database/functions/append_within.sql defines each outcome. */
export interface Appended {
  outcome: 'accepted' | 'duplicate' | 'conflict' | 'stale' | 'fenced'
  /** The lane where the message is now; for a duplicate, the lane of the earlier message. */
  lane: Lane
}

interface AppendOptions {
  database: Database
  retentionSeconds: number
  /** Called with the entries of one committed transaction, once its senders are being answered. Must not block or throw. */
  onCommitted: (entries: CommittedEntry[]) => void
}

interface Row {
  outcome: Appended['outcome'] | 'busy'
  lane: Lane
  position: number | null
  accepted_at: number
  expires_at: number
}

const MAX_ITEMS = 128

/** Appends concurrent messages together, in one transaction and one round trip. */
export function createAppend(options: AppendOptions): Batcher<Append, Appended> {
  return createLockingBatcher({
    name: 'messaging.append',
    maxItems: MAX_ITEMS,
    // All items share the statement's snapshot, so two items with the same id or request would not see each other.
    keyOf: ({ id, lane, sender, recipient }) => (lane === 'requests' ? [id, `${sender} ${recipient}`] : [id]),
    lockOf: ({ recipient }) => recipient,
    isLockTimeout,
    unavailable: (reason) => new ServiceError('unavailable', { cause: new Error(reason) }),
    run: (items, wait) =>
      retryOnTakenId(items, async (some) => {
        const rows = await retryOnConflict(() => appendBatch(options, some, wait))
        failpoint('messaging.appended')
        // Answer the senders before publishing.
        setImmediate(publish, options, some, rows)
        return rows.map(({ outcome, lane }) => (outcome === 'busy' ? BUSY : { outcome, lane }))
      }),
  })
}

async function appendBatch(options: AppendOptions, items: readonly Append[], wait: LockWait): Promise<Row[]> {
  const [only, ...others] = items
  if (only?.lane === 'inbox' && others.length === 0 && !wait.skipBusy) {
    const rows = await appendOne(options, only, wait.waitMs)
    if (rows.length > 0) return rows
  }
  const rows = await appendMany(options, items, wait)
  if (rows.length > 0) return rows
  const logIds = [...new Set(items.map((item) => item.recipient))]
  await options.database.run((sql) => openLogs(sql, logIds, wait.waitMs))
  return appendMany(options, items, wait)
}

/** The short path for the usual message (ADR 10). @returns no row if nothing was appended: `appendMany` finds out why. */
function appendOne({ database, retentionSeconds }: AppendOptions, item: Append, waitMs: number): Promise<Row[]> {
  return database.run(
    (sql) => sql<Row[]>`
    select 'accepted' as outcome, 'inbox' as lane, a.position, a.accepted_at, a.expires_at
    from messaging.append_one(
      message_id => ${item.id},
      digest => ${item.digest},
      sender => ${item.sender},
      recipient => ${item.recipient},
      thread => ${item.threadId},
      envelope => ${item.envelope},
      expiry_cap => ${item.expiryCap},
      standing => ${item.standingVersion},
      of_operation => ${item.operation},
      deadline_ms => ${item.deadlineMs},
      retention_seconds => ${retentionSeconds}::float8,
      lock_wait_ms => ${waitMs}::integer
    ) a`,
  )
}

function appendMany(
  { database, retentionSeconds }: AppendOptions,
  items: readonly Append[],
  { waitMs, skipBusy }: LockWait,
): Promise<Row[]> {
  return database.run((sql) => {
    const texts = (textOf: (item: Append) => string) => textList(sql, items.map(textOf))
    return sql<Row[]>`
    select a.outcome, a.lane, a.position, a.accepted_at, a.expires_at
    from messaging.append_within(
      ids => ${texts((item) => item.id)},
      digests => ${texts((item) => item.digest)},
      senders => ${texts((item) => item.sender)},
      recipients => ${texts((item) => item.recipient)},
      lanes => ${texts((item) => item.lane)},
      threads => ${items.map((item) => item.threadId)}::text[],
      envelopes => ${texts((item) => item.envelope)},
      expiry_caps => ${items.map((item) => item.expiryCap)}::bigint[],
      standings => ${items.map((item) => item.standingVersion)}::bigint[],
      operations => ${texts((item) => item.operation)},
      deadlines_ms => ${items.map((item) => item.deadlineMs)}::bigint[],
      retention_seconds => ${retentionSeconds}::float8,
      policies => ${texts((item) => item.policy)},
      contacts => ${texts((item) => item.contact)},
      lock_wait_ms => ${waitMs}::integer,
      skip_busy => ${skipBusy}::boolean
    ) a order by a.ord`
  })
}

function publish(options: AppendOptions, items: readonly Append[], rows: Row[]): void {
  const entries = rows.flatMap((row, index): CommittedEntry[] => {
    const item = items[index]
    if (item === undefined || row.position === null) return []
    const { accepted_at: acceptedAt, expires_at: expiresAt } = row
    return [
      {
        log: item.recipient,
        kind: item.lane,
        position: row.position,
        envelope: item.envelope,
        acceptedAt,
        expiresAt,
        traceparent: item.traceparent,
      },
    ]
  })
  if (entries.length > 0) options.onCommitted(entries)
}
