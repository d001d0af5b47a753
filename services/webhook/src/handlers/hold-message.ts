import { askedFor, recordAudit } from '@svc/audit/audit.ts'
import type { holdMessage as holdCall } from '@svc/contracts/admin.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { WebhookDeps } from '../deps.ts'
import { holdMessage as hold, releaseMessage as release } from '../store/held-jobs.ts'

/**
 * Holds the delivery of a message that was taken down, or releases it (spec 12.4), and records who did.
 * @param wake Makes this process look for due jobs at once; other processes find them at their next pass.
 */
export async function holdMessage(
  { database, wake }: Pick<WebhookDeps, 'database'> & { wake: () => void },
  request: RequestOf<typeof holdCall>,
  context: Pick<CallContext, 'operator'>,
  held: boolean,
): Promise<ReplyOf<typeof holdCall>> {
  const { agent_id: agentId, message_id: target, reference = null } = request
  const asked = askedFor(request, context)
  const changed = await database.transaction(async (tx) => {
    const isChanged = await (held ? hold : release)(tx, agentId, target)
    const action = held ? 'takedown' : 'restore'
    if (isChanged)
      await recordAudit(tx, 'webhook', { ...asked, action, target, reference, result: { kind: 'delivery' } })
    return isChanged
  })
  if (changed && !held) wake()
  return { changed }
}
