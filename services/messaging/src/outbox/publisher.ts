import { createBatcher } from '@svc/batching/batcher.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { MAX_BATCH_MESSAGES, type StreamPublisher } from '@svc/nats/streams/stream-publisher.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount } from '@svc/telemetry/metrics.ts'
import {
  findOutboxRows,
  leaseOutbox,
  markPublished,
  type OutboxRow,
  type PublishedRow,
  requeue,
} from '../store/outbox.ts'
import { watchStream } from './watched-stream.ts'

const published = defineCount({
  name: 'agentmsg_outbox_published_total',
  help: 'Events that JetStream acknowledged, by publisher: the committer, or the loop that found them unpublished',
  labels: ['by'],
})

export interface Publisher {
  /** Publishes events that this process has just committed. Never waits or throws: after a failure the loop publishes them. */
  publishCommitted(row: OutboxRow): void
  /** Publishes rows that no process has leased. @returns true if more may be waiting. */
  publishLeft(): Promise<boolean>
  /** Finds rows that the stream acknowledged and then lost, and requeues them. @returns true if there may be more. */
  requeueForgotten(): Promise<boolean>
}

/** Only one process may publish a row for this long after its commit or its lease. */
export const PUBLISH_LEASE_SECONDS = 5
type PublishedBy = 'committer' | 'loop'

/** Rows that one pass of the loop leases. A backlog must drain at thousands of rows per second, and each pass compares with the stream. */
const LEFT_ROWS = 1_000
/**
 * Maximum number of events that the loop holds in memory at once, unless one row has more. A row of DMs has up to 128 events
 * of up to 64 KiB. A row of posts has up to 800, but those are short references.
 */
const LEFT_EVENTS = 128
/** A pass starts no new group after this time, so that it marks its rows while it still holds their lease. */
const LEFT_MS = (PUBLISH_LEASE_SECONDS * 1_000) / 2
/** Rows are marked this long after JetStream acknowledged their events, so that one statement marks several (ADR 31). */
const MARK_LINGER_MS = 100
/** At most this many rows, and characters of their events, wait in memory. The loop publishes the rest after their lease. */
const MAX_WAITING = 2_000
const MAX_WAITING_CHARACTERS: number = 32 * 1024 * 1024

/** A row whose events JetStream has acknowledged. */
interface Acknowledged extends PublishedRow {
  /** `WatchedStream.resets` just before the epoch was read. */
  readonly resets: number
}

interface PublisherOptions {
  database: Database
  stream: StreamPublisher
  logger: Logger
}

export function createPublisher({ database, stream, logger }: PublisherOptions): Publisher {
  const watched = watchStream({ database, stream, logger })
  let waitingCharacters = 0
  const publish = createBatcher<OutboxRow, void>({
    name: 'messaging.outbox',
    maxItems: MAX_BATCH_MESSAGES,
    maxWaiting: MAX_WAITING,
    run: async (rows) => {
      await publishRows(rows, 'committer')
      return rows.map(() => undefined)
    },
  })

  const markSoon = createBatcher<Acknowledged, void>({
    name: 'messaging.mark',
    lingerMs: MARK_LINGER_MS,
    run: markRows,
  })

  return {
    publishCommitted(row) {
      const characters = row.events.reduce((sum, { text }) => sum + text.length, 0)
      if (waitingCharacters + characters > MAX_WAITING_CHARACTERS) return
      waitingCharacters += characters
      publish(row)
        .catch(leaveToLoop)
        .finally(() => {
          waitingCharacters -= characters
        })
    },

    async publishLeft() {
      const endMs = performance.now() + LEFT_MS
      const leased = await database.run((sql) => leaseOutbox(sql, LEFT_ROWS, PUBLISH_LEASE_SECONDS))
      if (leased.length === 0) return false
      failpoint('messaging.outbox.leased')
      for (const group of groupRows(leased, LEFT_EVENTS)) {
        if (performance.now() > endMs) break // the lease ends soon; a later pass takes the rest
        const ids = group.map(({ id }) => id)
        await publishRows(await database.run((sql) => findOutboxRows(sql, ids)), 'loop')
      }
      return leased.length === LEFT_ROWS
    },

    requeueForgotten: watched.requeueForgotten,
  }

  function leaveToLoop(error: unknown): void {
    logger.warn({ err: error }, 'publication is left to the outbox loop')
  }

  async function publishRows(rows: OutboxRow[], by: PublishedBy): Promise<void> {
    const { resets } = watched
    const epoch = await watched.epoch()
    const acknowledged: Acknowledged[] = []
    const sized = rows.map((row) => ({ ...row, eventCount: row.events.length }))
    for (const group of groupRows(sized, MAX_BATCH_MESSAGES)) {
      const events = group.flatMap((row) => row.events)
      // A row has no events left if its messages were purged since.
      const lastSequence = events.length === 0 ? 0 : await watched.publish(events, epoch, by === 'committer')
      failpoint('messaging.outbox.published')
      published.add({ by }, events.length)
      acknowledged.push(...group.map(({ id }) => ({ id, epoch, lastSequence, resets })))
    }
    if (by === 'committer') {
      void Promise.all(acknowledged.map(markSoon)).catch(leaveToLoop)
      return
    }
    const failed = (await markRows(acknowledged)).find((outcome) => outcome !== undefined)
    if (failed !== undefined) throw failed
  }

  /**
   * Marks rows as published. The stream may lose an event after it was acknowledged, and give its sequence to another one, which
   * hides the loss. So a row is published again if there was a sign of a loss since just before its epoch was read, also during the mark.
   * @returns an error for each row that is published again.
   */
  async function markRows(rows: Acknowledged[]): Promise<(undefined | Error)[]> {
    const isKept = (row: Acknowledged): boolean => row.resets === watched.resets
    const kept = rows.filter(isKept)
    if (kept.length > 0) await database.run((sql) => markPublished(sql, kept))
    failpoint('messaging.outbox.marked')
    const doubtful = kept.filter((row) => !isKept(row)).map(({ id }) => id)
    if (doubtful.length > 0) await database.run((sql) => requeue(sql, doubtful))
    return rows.map((row) =>
      isKept(row) ? undefined : new Error('the stream may have lost events that it acknowledged'),
    )
  }
}

/** Groups rows so that a group has at most `maxEvents` events. A row is never split, so a larger row is a group of its own. */
function groupRows<T extends { eventCount: number }>(rows: readonly T[], maxEvents: number): T[][] {
  const groups: T[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const row of rows) {
    if (size + row.eventCount > maxEvents) {
      groups.push([])
      size = 0
    }
    groups.at(-1)?.push(row)
    size += row.eventCount
  }
  return groups
}
