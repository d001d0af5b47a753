import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { closeWebhook as closeWebhookCall, deleteWebhook as deleteWebhookCall } from '@svc/contracts/webhook.ts'
import type { WebhookDeps } from '../deps.ts'
import { lockEndpoint, lockExisting, markRevoked, replaceConfiguration } from '../store/endpoints.ts'

type Deps = Pick<WebhookDeps, 'database'>

/** Deletes the webhook together with its pending jobs. */
export async function deleteWebhook(
  { database }: Deps,
  { agent_id: agentId }: RequestOf<typeof deleteWebhookCall>,
): Promise<ReplyOf<typeof deleteWebhookCall>> {
  await database.transaction(async (tx) => {
    const endpoint = await lockExisting(tx, agentId)
    if (endpoint === undefined || endpoint.configuration === null) throw new ServiceError('not_found')
    await replaceConfiguration(tx, agentId, endpoint, undefined)
  }, agentId)
  return {}
}

/** Deletes the webhook and prevents a new one, even by a request that was admitted before the revocation. */
export async function closeWebhook(
  { database }: Deps,
  { agent_id: agentId }: RequestOf<typeof closeWebhookCall>,
): Promise<ReplyOf<typeof closeWebhookCall>> {
  await database.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, agentId)
    await replaceConfiguration(tx, agentId, endpoint, undefined)
    await markRevoked(tx, agentId)
  }, agentId)
  return {}
}
