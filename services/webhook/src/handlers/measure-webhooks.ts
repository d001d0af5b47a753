import type { ReplyOf } from '@svc/contracts/define.ts'
import type { measureWebhooks as measureWebhooksCall } from '@svc/contracts/webhook.ts'
import type { Deliveries } from '../deliveries.ts'
import type { WebhookDeps } from '../deps.ts'
import type { Ingest } from '../loops/ingest.ts'
import { oldestDueSeconds } from '../store/endpoints.ts'

/** How far deliveries are behind. The stream may be away, and then says nothing. */
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
