import type { ContactState } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'

/** The current state of an agent in this agent's contact list. */
export async function contactState(client: AgentClient, agentId: string, signal: AbortSignal): Promise<ContactState> {
  // Contacts are sorted by id, and `after` need not exist: the shorter text is right before the id.
  const { items } = await client.contacts({ after: agentId.slice(0, -1), pageSize: 1, signal }).page()
  return items.find(({ agent_id }) => agent_id === agentId)?.state ?? 'none'
}

export async function isAccepted(client: AgentClient, agentId: string, signal: AbortSignal): Promise<boolean> {
  return (await contactState(client, agentId, signal)) === 'accepted'
}
