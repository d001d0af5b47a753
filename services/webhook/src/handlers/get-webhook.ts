import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { getWebhook as getWebhookCall } from '@svc/contracts/webhook.ts'
import type { WebhookDeps } from '../deps.ts'
import { findEndpoint } from '../store/endpoints.ts'

/** Returns the agent's webhook and its counts since it was set, but never its secret (spec 10.1). */
export async function getWebhook(
  { database }: Pick<WebhookDeps, 'database'>,
  { agent_id }: RequestOf<typeof getWebhookCall>,
): Promise<ReplyOf<typeof getWebhookCall>> {
  const state = await database.run((sql) => findEndpoint(sql, agent_id))
  if (state === undefined) throw new ServiceError('not_found')
  return state
}
