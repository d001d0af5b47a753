import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { setSuspension as setSuspensionCall } from '@svc/contracts/webhook.ts'
import type { WebhookDeps } from '../deps.ts'
import { lockEndpoint, writePause } from '../store/endpoints.ts'

/**
 * Pauses the webhook of a suspended agent, or continues it. Attempts under way end as usual.
 * @param wake Makes this process look for due jobs at once; other processes find them at their next pass.
 */
export async function setSuspension(
  { database, wake }: Pick<WebhookDeps, 'database'> & { wake: () => void },
  change: RequestOf<typeof setSuspensionCall>,
): Promise<ReplyOf<typeof setSuspensionCall>> {
  await database.transaction(async (tx) => {
    await lockEndpoint(tx, change.agent_id)
    await writePause(tx, change)
  }, change.agent_id)
  if (change.suspension === null) wake()
  return {}
}
