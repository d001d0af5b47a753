import { createBatcher } from '@svc/batching/batcher.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import {
  MAX_BATCH_MESSAGES,
  type Publication,
  type StreamPublisher,
  type StreamState,
} from '@svc/nats/stream-publisher.ts'
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
  requeueForgotten,
} from '../store/outbox.ts'

const published = defineCount({
  name: 'svc_outbox_published_total',
  help: 'Events that JetStream has acknowledged, by who published them: their committer, or whoever found them left',
  labels: ['by'],
})
const requeuedRows = defineCount({
  name: 'svc_outbox_requeued_total',
  help: 'Outbox rows that are published again because the stream has forgotten them',
  labels: [],
})

export interface Publisher {
  /** Publishes what this process has just committed; never waits and never throws: what fails is left to the loop. */
  publishCommitted(row: OutboxRow): void
  /** Publishes rows that nobody publishes. @returns true where more may be waiting. */
  publishLeft(): Promise<boolean>
  /** Compares what was acknowledged with what the stream knows. @returns true where more may have been forgotten. */
  requeueForgotten(): Promise<boolean>
}

/** How long a process alone may publish a row, from its commit or from its lease. */
export const PUBLISH_LEASE_SECONDS = 5
type PublishedBy = 'committer' | 'loop'

const LEFT_ROWS = 50
const REQUEUE_ROWS = 1_000
/** Rows, and characters of their events, that wait in memory at most; what does not fit is published from the table when its lease has ended. */
export const MAX_WAITING = 2_000
export const MAX_WAITING_CHARACTERS: number = 32 * 1024 * 1024

export interface PublisherOptions {
  database: Database
  stream: StreamPublisher
  logger: Logger
}

export function createPublisher({ database, stream, logger }: PublisherOptions): Publisher {
  // Unknown until the stream was compared with the table, and again after everything that a stream with a lost tail causes:
  // a disconnection, a failed publication, a sequence that was given before. A server that comes back may know less than
  // it acknowledged, and nothing new may cover the gap before it was seen.
  let epoch: string | undefined
  /** The last sequence that the stream of this epoch is known to have given. */
  let lastGiven = 0
  let disconnects = 0
  void stream.watchDisconnects(() => {
    epoch = undefined
    disconnects += 1
  })

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

  return {
    publishCommitted(row) {
      const characters = row.events.reduce((sum, { text }) => sum + text.length, 0)
      if (waitingCharacters + characters > MAX_WAITING_CHARACTERS) return
      waitingCharacters += characters
      publish(row)
        .catch((error: unknown) => logger.warn({ err: error }, 'publication is left to the outbox loop'))
        .finally(() => {
          waitingCharacters -= characters
        })
    },

    async publishLeft() {
      const ids = await database.run((sql) => leaseOutbox(sql, LEFT_ROWS, PUBLISH_LEASE_SECONDS))
      if (ids.length === 0) return false
      failpoint('messaging.outbox.leased')
      await publishRows(await database.run((sql) => findOutboxRows(sql, ids)), 'loop')
      return ids.length === LEFT_ROWS
    },

    async requeueForgotten() {
      return (await compare()).requeued === REQUEUE_ROWS
    },
  }

  async function publishRows(rows: OutboxRow[], by: PublishedBy): Promise<void> {
    const current = epoch ?? (await compare()).epoch
    const before = disconnects
    const marks: PublishedRow[] = []
    for (const group of groupRows(rows)) {
      const events = group.flatMap((row) => row.events)
      // What was purged since there is nothing to say about.
      const lastSequence = events.length === 0 ? 0 : await publishEvents(events, current, by)
      failpoint('messaging.outbox.published')
      published.add({ by }, events.length)
      marks.push(...group.map(({ id }) => ({ id, epoch: current, lastSequence })))
    }
    if (disconnects !== before) throw new Error('the connection was lost: what was acknowledged may be gone')
    await database.run((sql) => markPublished(sql, marks))
    failpoint('messaging.outbox.marked')
  }

  /** @returns a sequence at or below which all of them are stored. */
  async function publishEvents(events: Publication[], current: string, by: PublishedBy): Promise<number> {
    const givenBefore = lastGiven
    try {
      const { lastSequence, isNew } = await stream.publish(events)
      // The loop may publish events together that the stream knows and that it does not.
      const stored = !isNew ? 0 : by === 'committer' ? events.length : 1
      if (lastSequence < givenBefore + stored) {
        await requeueBehind({ epoch: current, lastSequence: lastSequence - events.length })
        throw new Error(`the stream gave sequence ${lastSequence} again: what it forgot is published once more`)
      }
      lastGiven = lastSequence
      return lastSequence
    } catch (error) {
      epoch = undefined
      throw error
    }
  }

  /**
   * For a stream that has lost its tail and has new events there: what was in their place has sequences that it knows. Rows that
   * other processes published since are among those found, and are known by their ids when they come again.
   */
  async function requeueBehind(state: StreamState): Promise<void> {
    for (;;) {
      const found = await database.run((sql) => findBeyond(sql, state, REQUEUE_ROWS))
      if (found.length > 0) await requeue(found, state)
      if (found.length < REQUEUE_ROWS) return
    }
  }

  async function requeue(found: readonly number[], state: StreamState): Promise<number> {
    const requeued = await database.run((sql) => requeueForgotten(sql, found, state))
    requeuedRows.add({}, requeued)
    if (requeued > 0) failpoint('messaging.outbox.requeued')
    if (requeued > 0) logger.warn({ rows: requeued }, 'the stream has forgotten what it acknowledged: publishing again')
    return requeued
  }

  async function compare(): Promise<{ epoch: string; requeued: number }> {
    const first = await stream.state()
    const found = await database.run((sql) => findForgotten(sql, first, REQUEUE_ROWS))
    // What was published since the stream was asked looks forgotten: what was found is held against what it says now.
    const state = found.length === 0 ? first : await stream.state()
    const requeued = found.length === 0 ? 0 : await requeue(found, state)
    // New events get the sequences that a lost tail had, so all of the tail is found before anything is published. What another
    // stream had is found at any time: a day of it must not hold up new events.
    if (found.length === REQUEUE_ROWS) await requeueBehind(state)
    else epoch = state.epoch
    lastGiven = state.lastSequence
    return { epoch: state.epoch, requeued }
  }
}

/** As many rows together as one batch takes; a row is never split. */
function groupRows(rows: OutboxRow[]): OutboxRow[][] {
  const groups: OutboxRow[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const row of rows) {
    if (size + row.events.length > MAX_BATCH_MESSAGES) {
      groups.push([])
      size = 0
    }
    groups.at(-1)?.push(row)
    size += row.events.length
  }
  return groups
}
