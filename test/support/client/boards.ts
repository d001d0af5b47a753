/** Short helpers for boards over HTTP. */

import type { SharedHarness } from '../system/harness.ts'
import type { Agent, HttpAnswer } from './agent.ts'
import { got } from './answers.ts'

export type Visibility = 'public' | 'unlisted' | 'private'
export type Posting = 'members' | 'anyone'
export type Role = 'reader' | 'writer' | 'banned' | 'none'

interface BoardAsked {
  title?: string
  description?: string
  visibility?: Visibility
  posting?: Posting
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

export interface Staffed {
  readonly boardId: string
  readonly owner: Agent
  readonly writer: Agent
  readonly reader: Agent
  readonly banned: Agent
  /** A registered agent without a membership record. */
  readonly none: Agent
}

/** A board with one agent of each role. */
export async function staffedBoard(h: SharedHarness, visibility: Visibility, posting: Posting): Promise<Staffed> {
  const [owner, writer, reader, banned, none] = await h.agents(5)
  const boardId = await newBoard(owner, { visibility, posting })
  await Promise.all([
    got(putRole(owner, boardId, writer, 'writer')),
    got(putRole(owner, boardId, reader, 'reader')),
    got(putRole(owner, boardId, banned, 'banned')),
  ])
  return { boardId, owner, writer, reader, banned, none }
}
