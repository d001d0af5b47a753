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
  ingestion,
  deliveries,
}: Pick<WebhookDeps, 'database'> & { ingestion: Ingest; deliveries: Deliveries }): Promise<
  ReplyOf<typeof measureWebhooksCall>
> {
  const [oldest, lag] = await Promise.all([database.run(oldestDueSeconds), ingestion.lag().catch(() => null)])
  return { oldest_due_seconds: oldest, consumer_lag: lag, in_flight: deliveries.inFlight }
}
