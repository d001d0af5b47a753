import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Nats } from '@svc/nats/connect.ts'
import type { StreamManagement } from '@svc/nats/streams/managed-streams.ts'
import { type Handled, StreamConsumer, type StreamEvent } from '@svc/nats/streams/stream-consumer.ts'
import { WEBHOOK_CONSUMER } from '@svc/nats/streams/streams.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { WebhookDeps } from '../deps.ts'
import { agentOf, type InboxEvent, parseInboxEvent } from '../domain/accepted-event.ts'
import { events } from '../metrics.ts'

/** Maximum number of events per pull, and so of events in the memory of this process. */
const MAX_EVENTS = 500
/** Duration of a pull. The next pull finds out whether stream, consumer and connection still exist. */
const PULL_MS = 5_000
/** Poll interval while the stream does not exist: messaging creates it with its first message. */
const INTERVAL_MS = 500

export interface Ingest {
  readonly loop: Loop
  /** Number of events in the stream that are not jobs yet. @throws Error if the stream is unavailable. */
  lag(): Promise<number>
}

/** Turns inbox events into jobs. All processes share the consumer, which gives each event to one of them. */
export async function startIngest({
  nats,
  isConfigured,
  ingest,
  logger,
  management,
}: Pick<WebhookDeps, 'isConfigured' | 'ingest' | 'logger'> & {
  nats: Nats
  management: StreamManagement
}): Promise<Ingest> {
  let failure: unknown
  const handle = async (event: StreamEvent): Promise<Handled> => {
    const handled = await ingestEvent(event)
    events.add({ handled })
    return handled
  }
  const ingestEvent = async (event: StreamEvent): Promise<Handled> => {
    try {
      if (!(await isConfigured(agentOf(event.subject)))) return 'done'
      const parsed = parse(event)
      if (parsed === undefined) return 'never'
      await ingest({ ...parsed, traceparent: event.traceparent })
      failpoint('webhook.ingested')
      return 'done'
    } catch (error) {
      // The loop logs the first failure of a pull, and pauses. JetStream sends the event again.
      failure ??= error
      return 'again'
    }
  }
  const consumer = await StreamConsumer.open(nats, WEBHOOK_CONSUMER, { handle, management, onBack: () => loop.wake() })
  const loop = startLoop({
    name: 'ingest',
    logger,
    intervalMs: INTERVAL_MS,
    run: async (signal) => {
      failure = undefined
      const found = await consumer.pull({ maxEvents: MAX_EVENTS, waitMs: PULL_MS, signal })
      if (failure !== undefined) throw failure
      return found
    },
    ended: () => consumer[Symbol.asyncDispose](),
  })
  return { loop, lag: () => consumer.lag() }

  function parse({ subject, text, acceptedMs }: StreamEvent): InboxEvent | undefined {
    try {
      return parseInboxEvent(subject, text, acceptedMs)
    } catch (error) {
      // The publisher has broken the contract, so a retry would not help.
      logger.error({ err: error }, 'an event of the stream cannot be read: it breaks its contract')
      return undefined
    }
  }
}
