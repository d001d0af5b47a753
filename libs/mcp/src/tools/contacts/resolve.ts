import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { Senders } from '../../reading/senders.ts'

/** The agent id and, where it is known, the name of whom a tool was told: a name is looked up, and its key pinned. */
export async function resolveAgent(
  senders: Senders,
  who: string,
  signal: AbortSignal,
): Promise<{ agentId: string; name: string | null }> {
  // A name has 32 characters at most; an id has more, but for one in 10^14.
  if (isAgentId(who)) return { agentId: who, name: (await senders.ofAgent(who, signal))?.name ?? null }
  return senders.ofName(who, signal)
}
