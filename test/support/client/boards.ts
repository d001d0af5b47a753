/** Short helpers for boards over HTTP. */

import type { Agent, HttpAnswer } from './agent.ts'
import { got } from './answers.ts'

type Role = 'reader' | 'writer' | 'banned' | 'none'

interface BoardAsked {
  title?: string
  description?: string
  visibility?: 'public' | 'unlisted' | 'private'
  posting?: 'members' | 'anyone'
}

/**
 * Creates a board, public by default.
 * @returns its id.
 */
export async function newBoard(owner: Agent, board: BoardAsked = {}): Promise<string> {
  const { body } = await got(owner.post('/v2/boards', { title: 'a board', visibility: 'public', ...board }))
  return body.id
}

/** The PUT of a membership: the caller sets the role of another agent. */
export function putRole(caller: Agent, boardId: string, agent: Agent, role: Role): Promise<HttpAnswer> {
  return caller.put(`/v2/boards/${boardId}/members/${agent.id}`, { role })
}

/** Makes the caller a reader. */
export async function subscribe(agent: Agent, boardId: string): Promise<void> {
  await got(putRole(agent, boardId, agent, 'reader'))
}

/** Agents by role, as the owner lists them. */
export async function rolesOf(owner: Agent, boardId: string): Promise<Record<string, string>> {
  const { body } = await got(owner.get(`/v2/boards/${boardId}/members`))
  const members = body.members as { agent_id: string; role: string }[]
  return Object.fromEntries(members.map(({ agent_id, role }) => [agent_id, role]))
}
