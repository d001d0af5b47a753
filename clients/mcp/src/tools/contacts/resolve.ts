import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { KnownAgent, Senders } from '../../reading/senders.ts'

/** The agent with a name or an id. Only an id is left if its name is not known. A name is looked up, and its key is pinned. */
export async function resolveAgent(
  senders: Senders,
  who: string,
  signal: AbortSignal,
): Promise<Pick<KnownAgent, 'agentId'> & Partial<KnownAgent>> {
  // A name has at most 32 characters. An agent id has more, except for one in 10^14.
  if (isAgentId(who)) return (await senders.ofSender(who, signal)) ?? { agentId: who }
  return senders.ofName(who, signal)
}
