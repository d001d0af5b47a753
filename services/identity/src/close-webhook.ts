import type { CallContext } from '@svc/contracts/define.ts'
import { closeWebhook as closeWebhookCall } from '@svc/contracts/webhook.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { IdentityDeps } from './deps.ts'
import { markWebhookClosed } from './store/agents.ts'

/**
 * Has the webhook of a revoked agent deleted, and none set any more, and records that it was. May be repeated.
 * @throws ServiceError `unavailable` where it is not known to have taken effect; the loop goes on with it.
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
