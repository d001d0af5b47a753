import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { revokeAgent as revokeAgentCall } from '@svc/contracts/identity.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { IdentityDeps } from '../deps.ts'
import { pushMailbox } from '../push-mailbox.ts'
import { revokeAgent as revokeAgentRow } from '../store/agents.ts'

/**
 * Revokes for ever. From the commit on the signer is refused (decisions 13); it is answered when messaging takes nothing
 * more for it. Free, and asks budget nothing (decisions 52).
 */
export async function revokeAgent(
  deps: Pick<IdentityDeps, 'bus' | 'database'>,
  { agent_id }: RequestOf<typeof revokeAgentCall>,
  context: CallContext,
): Promise<ReplyOf<typeof revokeAgentCall>> {
  const record = await deps.database.run((sql) => revokeAgentRow(sql, agent_id))
  if (record === undefined) throw new ServiceError('not_found')
  failpoint('identity.revocation.committed')
  if (record.mailbox_pushed < record.mailbox_version) await pushMailbox(deps, record, context)
  return { status: 'revoked' }
}
