import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { revokeAgent as revokeAgentCall } from '@svc/contracts/identity.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { closeWebhook } from '../close-webhook.ts'
import type { IdentityDeps } from '../deps.ts'
import { pushMailbox } from '../push-mailbox.ts'
import { revokeAgent as revokeAgentRow } from '../store/agents.ts'

/** What is not closed by then is left to the loop. */
const CLOSE_LIMIT_MS = 2_000

/**
 * Revokes for ever. From the commit on the signer is refused (spec 5.11); it is answered when messaging takes nothing
 * more for it (spec 7.6), and its webhook is deleted: that waits for nobody who is away, and is done as soon as it can be. Free, and asks budget nothing (spec 11.2).
 */
export async function revokeAgent(
  deps: Pick<IdentityDeps, 'bus' | 'database'>,
  { agent_id }: RequestOf<typeof revokeAgentCall>,
  context: CallContext,
): Promise<ReplyOf<typeof revokeAgentCall>> {
  const record = await deps.database.transaction((tx) => revokeAgentRow(tx, agent_id))
  if (record === undefined) throw new ServiceError('not_found')
  failpoint('identity.revocation.committed')
  await Promise.all([
    record.mailbox_pushed < record.mailbox_version ? pushMailbox(deps, record, context) : undefined,
    closeWebhook(deps, agent_id, soonerThan(context, CLOSE_LIMIT_MS)).catch(() => undefined),
  ])
  return { status: 'revoked' }
}

function soonerThan({ traceparent, deadlineMs }: CallContext, limitMs: number): CallContext {
  return { traceparent, deadlineMs: Math.min(deadlineMs, Date.now() + limitMs) }
}
