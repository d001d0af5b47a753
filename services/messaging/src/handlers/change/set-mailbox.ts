import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { setMailbox as setMailboxCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { applyMailbox } from '../../store/logs.ts'

type Request = RequestOf<typeof setMailboxCall>
type Result = ReplyOf<typeof setMailboxCall>

/**
 * Applies an agent's inbox policy and revocation, which identity sends. After the answer, no message is accepted whose decision
 * was based on older settings.
 */
export async function setMailbox(
  { database }: Pick<Deps, 'database'>,
  { agent_id: agentId, policy, revoked, version }: Request,
): Promise<Result> {
  await database.transaction((tx) => applyMailbox(tx, { agentId, policy, revoked, version }), agentId)
  return {}
}
