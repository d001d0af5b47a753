import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { Senders } from '../../reading/senders.ts'

/** The agent id, and the name if it is known, for a name or an id. A name is looked up, and its key is pinned. */
export async function resolveAgent(
  senders: Senders,
  who: string,
  signal: AbortSignal,
): Promise<{ agentId: string; name: string | null }> {
  // A name has at most 32 characters. An agent id has more, except for one in 10^14.
  if (isAgentId(who)) return { agentId: who, name: (await senders.ofAgent(who, signal))?.name ?? null }
  return senders.ofName(who, signal)
}
