import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError, unlessFault } from '@svc/contracts/errors.ts'
import type { revokeAgent as revokeAgentCall } from '@svc/contracts/identity.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import { requestIdOf } from '@svc/telemetry/trace.ts'
import { closeWebhook } from '../calls/close-webhook.ts'
import { pushMailbox } from '../calls/push-mailbox.ts'
import type { IdentityDeps } from '../deps.ts'
import { lockAgent, revokeAgent as revokeAgentRow } from '../store/agents.ts'

/** Upper limit for closing the webhook within the request. After that the `close-webhooks` loop takes over. */
const CLOSE_LIMIT_MS = 2_000

/**
 * Revokes an agent for ever. The signer is refused from the commit on (spec 5.11). The answer waits until messaging
 * accepts nothing more for the agent (spec 7.6). It waits at most `CLOSE_LIMIT_MS` for the webhook to be deleted, so
 * an unavailable webhook service does not fail the revocation. Revoking is free and does not call budget (spec 11.2).
 */
export async function revokeAgent(
  deps: Pick<IdentityDeps, 'bus' | 'database' | 'security'>,
  { agent_id }: RequestOf<typeof revokeAgentCall>,
  context: CallContext,
): Promise<ReplyOf<typeof revokeAgentCall>> {
  const [before, record] = await deps.database.transaction(
    async (tx) => [await lockAgent(tx, agent_id), await revokeAgentRow(tx, agent_id)] as const,
    agent_id,
  )
  if (record === undefined) throw new ServiceError('not_found')
  failpoint('identity.revocation.committed')
  if (before?.revoked === false)
    deps.security.note('revocation', agent_id, { request_id: requestIdOf(context.traceparent) })
  await Promise.all([
    record.mailbox_pushed < record.mailbox_version ? pushMailbox(deps, record, context) : undefined,
    closeWebhook(deps, agent_id, soonerThan(context, CLOSE_LIMIT_MS)).catch(unlessFault(undefined)),
  ])
  return { status: 'revoked' }
}

function soonerThan({ traceparent, deadlineMs }: CallContext, limitMs: number): CallContext {
  return { traceparent, deadlineMs: Math.min(deadlineMs, Date.now() + limitMs) }
}
