import { randomUUID } from 'node:crypto'
import { chargedChange } from '@svc/charging/charged-change.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { setWebhook as setWebhookCall } from '@svc/contracts/webhook.ts'
import { parseWebhookUrl } from '@svc/outbound/webhook-url.ts'
import type { Tx } from '@svc/postgres/database.ts'
import { requestIdOf } from '@svc/telemetry/trace.ts'
import type { WebhookDeps } from '../deps.ts'
import { lockEndpoint, replaceConfiguration } from '../store/endpoints.ts'

type Deps = Pick<WebhookDeps, 'database' | 'charging' | 'operations' | 'secrets' | 'exemptTargets' | 'security'>

/** Every PUT of a webhook costs 1 unit, even a repeat (spec 11.2). */
const UNITS = 1

/**
 * Sets the webhook, and voids the pending jobs of the previous one in the same transaction. A repeat also voids pending jobs
 * and costs 1 unit (spec 10.1, 11.2).
 */
export async function setWebhook(
  deps: Deps,
  { agent_id: agentId, webhook, after }: RequestOf<typeof setWebhookCall>,
  context: CallContext,
): Promise<ReplyOf<typeof setWebhookCall>> {
  const { url, secret } = webhook
  parseWebhookUrl(url, deps.exemptTargets)
  const id = randomUUID()
  const sealed = deps.secrets.seal(Buffer.from(secret, 'utf8'), { agentId, configuration: id })
  const change = {
    agentId,
    lock: agentId,
    price: async () => UNITS,
    async write(tx: Tx): Promise<void> {
      const endpoint = await lockEndpoint(tx, agentId)
      if (endpoint.revoked) throw new ServiceError('signer_revoked')
      await replaceConfiguration(tx, agentId, endpoint, { id, url, after, ...sealed })
    },
  }
  await chargedChange(deps, change, context)
  deps.security.note('webhook_changed', agentId, { request_id: requestIdOf(context.traceparent) })
  return { url, pending: 0, failed: 0 }
}
