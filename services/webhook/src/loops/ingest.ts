import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { Handled, StreamConsumer, StreamEvent } from '@svc/nats/stream-consumer.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { WebhookDeps } from '../deps.ts'
import { agentOf, type InboxEvent, parseInboxEvent } from '../domain/accepted-event.ts'

/** Events of one pull at most, which is what this process has in memory of them. */
const MAX_EVENTS = 500
/** A pull ends after so long; the next one finds out whether stream, consumer and connection are still there. */
const PULL_MS = 5_000
/** While there is no stream: messaging makes it with its first message. */
const INTERVAL_MS = 500

/** Turns inbox events into jobs. Shared by every process: each event is given to one of them. */
export function startIngest({
  consumer,
  isConfigured,
  ingest,
  logger,
}: Pick<WebhookDeps, 'isConfigured' | 'ingest' | 'logger'> & { consumer: StreamConsumer }): Loop {
  return startLoop({
    name: 'ingest',
    logger,
    intervalMs: INTERVAL_MS,
    run: async (signal) => {
      let failure: unknown
      const handle = async (event: StreamEvent): Promise<Handled> => {
        try {
          if (!(await isConfigured(agentOf(event.subject)))) return 'done'
          const parsed = parse(event)
          if (parsed === undefined) return 'never'
          await ingest(parsed)
          failpoint('webhook.ingested')
          return 'done'
        } catch (error) {
          failure = error
          return 'again'
        }
      }
      const found = await consumer.pull({ maxEvents: MAX_EVENTS, waitMs: PULL_MS, handle, signal })
      if (failure !== undefined) throw failure
      return found
    },
  })

  function parse({ subject, text }: StreamEvent): InboxEvent | undefined {
    try {
      return parseInboxEvent(subject, text)
    } catch (error) {
      // Whoever published it has broken the contract; waiting does not mend it.
      logger.error({ err: error }, 'an event of the stream cannot be read')
      return undefined
    }
  }
}
