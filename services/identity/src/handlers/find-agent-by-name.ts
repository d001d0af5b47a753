import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { findAgentByName as findAgentByNameCall } from '@svc/contracts/identity.ts'
import { isAgentName } from '@svc/contracts/ids.ts'
import type { IdentityDeps } from '../deps.ts'
import { publicAgent } from '../domain/agent.ts'

/** Finds the agent with exactly this name, even if it is revoked. Text that is not a valid name matches no agent. */
export async function findAgentByName(
  { readers }: Pick<IdentityDeps, 'readers'>,
  { name }: RequestOf<typeof findAgentByNameCall>,
): Promise<ReplyOf<typeof findAgentByNameCall>> {
  const record = isAgentName(name) ? await readers.byName(name) : undefined
  return { agent: record === undefined ? null : publicAgent(record) }
}
