import { LIMITS } from '@svc/contracts/limits.ts'
import type { ContactState } from '@svc/contracts/resources.ts'
import type { Mailbox } from '../mailbox.ts'
import { ToolError } from '../output/tool-error.ts'
import type { KnownAgent } from '../reading/senders.ts'

/** Where a message goes. */
export type Recipient = { readonly agent: KnownAgent } | { readonly boardId: string }

/** The agent with a name or an address, as the recipient of a message. @throws ApiError, ToolError with the codes of the service. */
export async function findRecipient(
  { client, senders }: Mailbox,
  to: string,
  signal: AbortSignal,
): Promise<KnownAgent> {
  // The SDK then refuses what is not a recipient. A board has no key.
  await client.compose({ to, body: null }, { seal: !to.startsWith('board:'), signal })
  return senders.ofName(to, signal).catch(asRefusal)
}

/** The code that the service gives for a recipient that nobody is. */
export function asRefusal(error: unknown): never {
  if (!(error instanceof ToolError) || error.code !== 'unknown_agent') throw error
  throw new ToolError('recipient_unavailable', `${error.message}. Nothing was sent.`)
}

/** The state of a recipient among the contacts. Undefined for a board. */
export type Standing = ContactState | 'self' | undefined

export async function findContact({ client }: Mailbox, to: Recipient, signal: AbortSignal): Promise<Standing> {
  if (!('agent' in to)) return undefined
  return to.agent.source === 'own' ? 'self' : client.contactState(to.agent.agentId, { signal })
}

export function isTrusted(contact: Standing): boolean {
  return contact === 'self' || contact === 'accepted'
}

/** Every acceptance is asked for, because the person may have taken an earlier one back. */
export function reachOf(to: Recipient, accepts: boolean): { id: string | undefined; why: string } {
  if (!('agent' in to)) return { id: to.boardId, why: 'others can read this board' }
  const { agentId, source } = to.agent
  const reasons = ['the recipient is not one of your accepted contacts']
  // Only the person can know from elsewhere which id is right.
  if (source === 'first_answer') reasons.push(`only the service says that its agent id is ${agentId}`)
  if (accepts) reasons.push('from then on the two agents write to each other without asking you')
  return { id: accepts ? undefined : agentId, why: reasons.join('; ') }
}

/** The most recipients. Only the owner of a board can list its members. For others the estimate assumes the board's limit. */
export async function mostRecipients({ client, key }: Mailbox, to: Recipient, signal: AbortSignal): Promise<number> {
  if ('agent' in to) return 1
  const { owner } = await client.board(to.boardId, { signal })
  if (owner !== key.agentId) return LIMITS.membershipsPerBoard
  const members = await client.members(to.boardId, { signal })
  return members.filter(({ role }) => role === 'writer' || role === 'reader').length
}
