import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { closeWebhook as closeWebhookCall, deleteWebhook as deleteWebhookCall } from '@svc/contracts/webhook.ts'
import { requestIdOf } from '@svc/telemetry/trace.ts'
import type { WebhookDeps } from '../deps.ts'
import { lockEndpoint, lockExisting, markRevoked, replaceConfiguration } from '../store/endpoints.ts'

/** Deletes the webhook together with its pending jobs. */
export async function deleteWebhook(
  { database, security }: Pick<WebhookDeps, 'database' | 'security'>,
  { agent_id: agentId }: RequestOf<typeof deleteWebhookCall>,
  { traceparent }: CallContext,
): Promise<ReplyOf<typeof deleteWebhookCall>> {
  await database.transaction(async (tx) => {
    const endpoint = await lockExisting(tx, agentId)
    if (endpoint === undefined || endpoint.configuration === null) throw new ServiceError('not_found')
    await replaceConfiguration(tx, agentId, endpoint, undefined)
  }, agentId)
  security.note('webhook_deleted', agentId, { request_id: requestIdOf(traceparent) })
  return {}
}

/** Deletes the webhook and prevents a new one, even by a request that was admitted before the revocation. */
export async function closeWebhook(
  { database }: Pick<WebhookDeps, 'database'>,
  { agent_id: agentId }: RequestOf<typeof closeWebhookCall>,
): Promise<ReplyOf<typeof closeWebhookCall>> {
  await database.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, agentId)
    await replaceConfiguration(tx, agentId, endpoint, undefined)
    await markRevoked(tx, agentId)
  }, agentId)
  return {}
}
