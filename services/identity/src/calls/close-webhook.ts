import type { CallContext } from '@svc/contracts/define.ts'
import { closeWebhook as closeWebhookCall } from '@svc/contracts/webhook.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { IdentityDeps } from '../deps.ts'
import { markWebhookClosed } from '../store/agents.ts'

/**
 * Deletes the webhook of a revoked agent, prevents a new one, and records that this is done. Idempotent.
 * @throws ServiceError `unavailable` if the outcome is unknown; the `close-webhooks` loop then retries.
 */
export async function closeWebhook(
  { bus, database }: Pick<IdentityDeps, 'bus' | 'database'>,
  agentId: string,
  context: CallContext,
): Promise<void> {
  await bus.call(closeWebhookCall, { agent_id: agentId }, context)
  failpoint('identity.webhook.closed')
  await database.run((sql) => markWebhookClosed(sql, agentId))
}
