/** Names of agents, as svc shows them. */
import { isSameAuthority, parseSender } from '@svc/envelope/address.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { shortened, shortId } from './format.ts'

/** The longest name with a host and a port of usual length. */
const MAX_CHARACTERS = 80

/** The sender in `from`: its name, its address if it is of another service, or the beginning of an id whose name is not known. */
export async function senderName(client: AgentClient, from: string, signal: AbortSignal): Promise<string> {
  const sender = parseSender(from)
  if (sender?.kind === 'id') return (await client.nameOf(from)) ?? shortId(from)
  const isLocal = sender !== undefined && isSameAuthority(sender.authority, await client.authority({ signal }))
  return isLocal ? sender.name : shortened(from, MAX_CHARACTERS)
}

/** An agent or a board in `from` or `to`. */
export async function participant(client: AgentClient, address: string, signal: AbortSignal): Promise<string> {
  return address.startsWith('board:') ? address : senderName(client, address, signal)
}

/** `alice (4vJ9JU1b…)` with the whole id, or only the id if its name is not known. */
export async function nameWithId(client: AgentClient, agentId: string): Promise<string> {
  const name = await client.nameOf(agentId)
  return name === undefined ? agentId : `${name} (${agentId})`
}
