import type { ReplyOf } from '@svc/contracts/define.ts'
import type { measureWebhooks as measureWebhooksCall } from '@svc/contracts/webhook.ts'
import type { WebhookDeps } from '../deps.ts'
import type { Deliveries } from '../loops/deliveries.ts'
import type { Ingest } from '../loops/ingest.ts'
import { oldestDueSeconds } from '../store/endpoints.ts'

/**
 * Reports how far deliveries are behind. If the stream is unavailable the lag is null, which the operator's tool shows
 * as unknown.
 */
export async function measureWebhooks({
  database,
  logger,
  ingestion,
  deliveries,
}: Pick<WebhookDeps, 'database' | 'logger'> & { ingestion: Ingest; deliveries: Deliveries }): Promise<
  ReplyOf<typeof measureWebhooksCall>
> {
  const lag = ingestion.lag().catch((error: unknown) => {
    logger.warn({ err: error }, 'the lag of the webhook consumer could not be read')
    return null
  })
  return {
    oldest_due_seconds: await database.run(oldestDueSeconds),
    consumer_lag: await lag,
    in_flight: deliveries.inFlight,
  }
}
