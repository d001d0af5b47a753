import type { ContactState } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'

/** The current state of an agent in this agent's contact list. */
export async function contactState(client: AgentClient, agentId: string, signal: AbortSignal): Promise<ContactState> {
  for await (const contact of client.contacts({ pageSize: 100, signal })) {
    if (contact.agent_id === agentId) return contact.state
  }
  return 'none'
}

export async function isAccepted(client: AgentClient, agentId: string, signal: AbortSignal): Promise<boolean> {
  return (await contactState(client, agentId, signal)) === 'accepted'
}
