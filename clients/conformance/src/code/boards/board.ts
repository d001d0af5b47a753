/** Short helpers of the cases about boards. */
import { got } from '../../cases/check.ts'
import { readPages } from '../../cases/pages.ts'
import type { Agent } from '../../http/agent.ts'
import type { Answer } from '../../http/exchange.ts'

/** @returns the id of a new board. */
export async function newBoard(owner: Agent, visibility: 'public' | 'private' = 'public'): Promise<string> {
  return (await got(owner.post('/v2/boards', { title: 'a board', visibility }))).id
}

/** Asks the second gateway, while posts and reads go to the first. */
export function putRole(caller: Agent, board: string, agent: Agent, role: string): Promise<Answer> {
  return caller.put(`/v2/boards/${board}/members/${agent.id}`, { role }, { gateway: 2 })
}

export async function roleOf(agent: Agent, owner: Agent, board: string): Promise<string> {
  const { members } = await got(owner.get(`/v2/boards/${board}/members`))
  return members.find(({ agent_id }: { agent_id: string }) => agent_id === agent.id)?.role ?? 'none'
}

/** The ids of the messages of all events of an agent. */
export async function eventIdsOf(agent: Agent): Promise<readonly string[]> {
  return (await readPages(agent, '/v2/events?limit=100')).ids
}
