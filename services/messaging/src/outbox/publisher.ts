import { createBatcher } from '@svc/batching/batcher.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import {
  MAX_BATCH_MESSAGES,
  type Publication,
  type StreamPublisher,
  type StreamState,
} from '@svc/nats/streams/stream-publisher.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount } from '@svc/telemetry/metrics.ts'
import {
  findBeyond,
  findForgotten,
  findOutboxRows,
  leaseOutbox,
  markPublished,
  type OutboxRow,
  type PublishedRow,
  requeue,
  requeueForgotten,
} from '../store/outbox.ts'

const published = defineCount({
  name: 'agentmsg_outbox_published_total',
  help: 'Events that JetStream acknowledged, by publisher: the committer, or the loop that found them unpublished',
  labels: ['by'],
})
const requeuedRows = defineCount({
  name: 'agentmsg_outbox_requeued_total',
  help: 'Outbox rows that are published again because the stream has lost them',
  labels: [],
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
const REQUEUE_ROWS = 1_000
/** Rows are marked this long after JetStream acknowledged their events, so that one statement marks several (ADR 31). */
const MARK_LINGER_MS = 100
/** At most this many rows, and characters of their events, wait in memory. The loop publishes the rest after their lease. */
const MAX_WAITING = 2_000
const MAX_WAITING_CHARACTERS: number = 32 * 1024 * 1024

/** A row whose events JetStream has acknowledged. */
interface Acknowledged extends PublishedRow {
  /** The number of resets of the epoch when the events were sent. */
  readonly resets: number
}

interface PublisherOptions {
  database: Database
  stream: StreamPublisher
  logger: Logger
}

export function createPublisher({ database, stream, logger }: PublisherOptions): Publisher {
  // The epoch of the stream, or undefined until stream and table are compared. A server that comes back may have lost events
  // that it acknowledged, and new events would hide the gap. So every sign of a lost tail resets the epoch: a disconnection,
  // a failed publication, or a sequence that was assigned before.
  let epoch: string | undefined
  /** How often the epoch was reset. */
  let resets = 0
  /** The last sequence that this stream is known to have assigned. */
  let lastGiven = 0
  void stream.watchDisconnects(resetEpoch)

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

    async requeueForgotten() {
      return (await compare()).requeued === REQUEUE_ROWS
    },
  }

  function resetEpoch(): void {
    epoch = undefined
    resets += 1
  }

  function leaveToLoop(error: unknown): void {
    logger.warn({ err: error }, 'publication is left to the outbox loop')
  }

  async function publishRows(rows: OutboxRow[], by: PublishedBy): Promise<void> {
    const current = epoch ?? (await compare()).epoch
    const before = resets
    const acknowledged: Acknowledged[] = []
    const sized = rows.map((row) => ({ ...row, eventCount: row.events.length }))
    for (const group of groupRows(sized, MAX_BATCH_MESSAGES)) {
      const events = group.flatMap((row) => row.events)
      // A row has no events left if its messages were purged since.
      const lastSequence = events.length === 0 ? 0 : await publishEvents(events, current, by)
      failpoint('messaging.outbox.published')
      published.add({ by }, events.length)
      acknowledged.push(...group.map(({ id }) => ({ id, epoch: current, lastSequence, resets: before })))
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
   * hides the loss. So a row is published again if the epoch was reset since its events were sent, also during the mark.
   * @returns an error for each row that is published again.
   */
  async function markRows(rows: Acknowledged[]): Promise<(undefined | Error)[]> {
    const isKept = (row: Acknowledged): boolean => row.resets === resets
    const kept = rows.filter(isKept)
    if (kept.length > 0) await database.run((sql) => markPublished(sql, kept))
    failpoint('messaging.outbox.marked')
    const doubtful = kept.filter((row) => !isKept(row)).map(({ id }) => id)
    if (doubtful.length > 0) await database.run((sql) => requeue(sql, doubtful))
    return rows.map((row) =>
      isKept(row) ? undefined : new Error('the stream may have lost events that it acknowledged'),
    )
  }

  /** @returns the sequence at or below which all of the events are stored. */
  async function publishEvents(events: Publication[], current: string, by: PublishedBy): Promise<number> {
    const givenBefore = lastGiven
    try {
      const { lastSequence, isNew } = await stream.publish(events)
      // A batch of the loop may mix new events with events that the stream already has. At least one event is new.
      const stored = !isNew ? 0 : by === 'committer' ? events.length : 1
      if (lastSequence < givenBefore + stored) {
        await requeueBehind({ epoch: current, lastSequence: lastSequence - events.length })
        throw new Error(`the stream assigned sequence ${lastSequence} twice: events that it lost are published again`)
      }
      lastGiven = Math.max(lastGiven, lastSequence) // another publication may have ended meanwhile
      return lastSequence
    } catch (error) {
      resetEpoch()
      throw error
    }
  }

  /**
   * Handles a stream that lost its tail and then assigned the same sequences to new events. The lost rows now look published,
   * because their sequences exist again. So this requeues every row past `state`, the end of the stream before the new events.
   * Other processes may have published some of these rows since; the stream drops their events as duplicates, by message id.
   */
  async function requeueBehind(state: StreamState): Promise<void> {
    for (;;) {
      const found = await database.run((sql) => findBeyond(sql, state, REQUEUE_ROWS))
      if (found.length > 0) await requeueLost(found, state)
      if (found.length < REQUEUE_ROWS) return
    }
  }

  async function requeueLost(found: readonly number[], state: StreamState): Promise<number> {
    const requeued = await database.run((sql) => requeueForgotten(sql, found, state))
    requeuedRows.add({}, requeued)
    if (requeued > 0) failpoint('messaging.outbox.requeued')
    if (requeued > 0)
      logger.warn({ rows: requeued }, 'the stream has lost events that it acknowledged: publishing them again')
    return requeued
  }

  async function compare(): Promise<{ epoch: string; requeued: number }> {
    const givenBefore = lastGiven
    const resetsBefore = resets
    const first = await stream.state()
    const found = await database.run((sql) => findForgotten(sql, first, REQUEUE_ROWS))
    // Rows that were published after the first look seem lost, so check the rows found against a second look.
    const state = found.length === 0 ? first : await stream.state()
    const requeued = found.length === 0 ? 0 : await requeueLost(found, state)
    // New events take over the sequences of a lost tail, so find all of the tail before anything is published. Rows of an
    // older stream can be found at any time. There may be a day's worth of them, which must not delay new events.
    if (found.length === REQUEUE_ROWS) await requeueBehind(state)
    else if (resets === resetsBefore) epoch = state.epoch
    // A publication may have ended since `state` was read, with a higher sequence. Keep the higher one. Otherwise, if the stream
    // loses that event and assigns its sequence again, nothing would notice.
    lastGiven = lastGiven === givenBefore ? state.lastSequence : Math.max(lastGiven, state.lastSequence)
    return { epoch: state.epoch, requeued }
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
