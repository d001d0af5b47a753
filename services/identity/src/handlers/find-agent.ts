import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { findAgent as findAgentCall } from '@svc/contracts/identity.ts'
import type { IdentityDeps } from '../deps.ts'
import { publicAgent } from '../domain/agent.ts'

/** Finds the agent with this id, even if it is revoked. */
export async function findAgent(
  { readers }: Pick<IdentityDeps, 'readers'>,
  { agent_id }: RequestOf<typeof findAgentCall>,
): Promise<ReplyOf<typeof findAgentCall>> {
  const record = await readers.byId(agent_id)
  return { agent: record === undefined ? null : publicAgent(record) }
}
