import { randomUUID } from 'node:crypto'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { setWebhook as setWebhookCall } from '@svc/contracts/webhook.ts'
import type { WebhookDeps } from '../deps.ts'
import { parseWebhookUrl } from '../domain/webhook-url.ts'
import { lockEndpoint, replaceConfiguration } from '../store/endpoints.ts'

type Deps = Pick<WebhookDeps, 'database' | 'charging' | 'operations' | 'secrets' | 'exemptTargets'>

/** Every PUT of a webhook costs 1 unit, even a repeat (spec 11.2). */
const UNITS = 1

/**
 * Sets the webhook, and voids the pending jobs of the previous one in the same transaction. Every call is an operation
 * of its own, so a repeat also voids pending jobs and costs 1 unit (spec 10.1, 11.2).
 */
export async function setWebhook(
  { database, charging, operations, secrets, exemptTargets }: Deps,
  { agent_id: agentId, webhook, after }: RequestOf<typeof setWebhookCall>,
  context: CallContext,
): Promise<ReplyOf<typeof setWebhookCall>> {
  const { url, secret } = webhook
  parseWebhookUrl(url, exemptTargets)
  const id = randomUUID()
  const sealed = secrets.seal(Buffer.from(secret, 'utf8'), { agentId, configuration: id })
  const cost = { operation: `webhook:${id}`, agentId, units: UNITS, introductionPeer: null }
  await charging.charge(cost, context, (reservation) =>
    database.transaction(async (tx) => {
      const endpoint = await lockEndpoint(tx, agentId)
      if (endpoint.revoked) throw new ServiceError('signer_revoked')
      // A duplicate means that this transaction was committed before and ran again.
      if ((await operations.commit(tx, reservation)) === 'duplicate') return
      await replaceConfiguration(tx, agentId, endpoint, { id, url, after, ...sealed })
    }, agentId),
  )
  return { url, pending: 0, failed: 0 }
}
