import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Publication, StreamPublisher, StreamState } from '@svc/nats/streams/stream-publisher.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount } from '@svc/telemetry/metrics.ts'
import { findBeyond, findForgotten, requeueForgotten } from '../store/outbox.ts'

const requeuedRows = defineCount({
  name: 'agentmsg_outbox_requeued_total',
  help: 'Outbox rows that are published again because the stream has lost them',
  labels: [],
})

const REQUEUE_ROWS = 1_000

/**
 * The stream of accepted events, which may lose events that it acknowledged. A server that comes back may have lost its last
 * events, and new events take over their sequences, which hides the gap. So every sign of a lost tail (a disconnection, a failed
 * publication, or a sequence that was assigned before) leads to a comparison with the outbox before `epoch()` returns again.
 */
interface WatchedStream {
  /** The epoch of the stream: its creation time. Compares table and stream first, at the first call and after each sign of a loss. */
  epoch(): Promise<string>
  /** The number of signs of a loss so far. */
  readonly resets: number
  /**
   * @param epoch the answer of `epoch()`.
   * @param areNew false if the stream may already have some of the events. It drops those as duplicates.
   * @returns the sequence at or below which all of the events are stored.
   * @throws Error if the stream does not acknowledge them, or had assigned this sequence before. Rows that it lost are requeued.
   */
  publish(events: Publication[], epoch: string, areNew: boolean): Promise<number>
  /** Finds rows that the stream acknowledged and then lost, and requeues them. @returns true if there may be more. */
  requeueForgotten(): Promise<boolean>
}

interface WatchedStreamOptions {
  database: Database
  stream: StreamPublisher
  logger: Logger
}

export function watchStream({ database, stream, logger }: WatchedStreamOptions): WatchedStream {
  /** Undefined until stream and table are compared. */
  let epoch: string | undefined
  let resets = 0
  /** The last sequence that this stream is known to have assigned. */
  let lastGiven = 0
  void stream.watchDisconnects(reset)

  return {
    epoch: async () => epoch ?? (await compare()).epoch,
    get resets() {
      return resets
    },
    publish,
    requeueForgotten: async () => (await compare()).requeued === REQUEUE_ROWS,
  }

  function reset(): void {
    epoch = undefined
    resets += 1
  }

  async function publish(events: Publication[], current: string, areNew: boolean): Promise<number> {
    const givenBefore = lastGiven
    try {
      const { lastSequence, isNew } = await stream.publish(events)
      // A batch of old and new events has at least one new event.
      const stored = !isNew ? 0 : areNew ? events.length : 1
      if (lastSequence < givenBefore + stored) {
        await requeueBehind({ epoch: current, lastSequence: lastSequence - events.length })
        throw new Error(`the stream assigned sequence ${lastSequence} twice: events that it lost are published again`)
      }
      lastGiven = Math.max(lastGiven, lastSequence) // another publication may have ended meanwhile
      return lastSequence
    } catch (error) {
      reset()
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
