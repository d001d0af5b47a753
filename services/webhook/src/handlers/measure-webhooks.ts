import type { ReplyOf } from '@svc/contracts/define.ts'
import type { measureWebhooks as measureWebhooksCall } from '@svc/contracts/webhook.ts'
import type { StreamConsumer } from '@svc/nats/stream-consumer.ts'
import type { Deliveries } from '../deliveries.ts'
import type { WebhookDeps } from '../deps.ts'
import { oldestDueSeconds } from '../store/endpoints.ts'

/** How far deliveries are behind. The stream may be away, and then says nothing. */
export async function measureWebhooks({
  database,
  consumer,
  deliveries,
}: Pick<WebhookDeps, 'database'> & { consumer: StreamConsumer; deliveries: Deliveries }): Promise<
  ReplyOf<typeof measureWebhooksCall>
> {
  const [oldest, lag] = await Promise.all([database.run(oldestDueSeconds), consumer.lag().catch(() => null)])
  return { oldest_due_seconds: oldest, consumer_lag: lag, in_flight: deliveries.inFlight }
}
