import { ServiceError } from '@svc/contracts/errors.ts'
import { findAgentByName, listAgents } from '@svc/contracts/identity.ts'
import { AgentName } from '@svc/contracts/ids.ts'
import { Agent, AgentList } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer } from '../http/answer.ts'
import { afterKey, limit } from '../http/query.ts'

export function agentRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'listAgents',
      method: 'GET',
      path: '/v2/agents',
      tag: 'Directory',
      summary: 'Discoverable agents, sorted by name',
      description: 'Agents that set `discoverable` and are not revoked.',
      auth: 'optional',
      query: { after: afterKey, limit },
      responses: { 200: { description: 'A page', schema: AgentList, example: EXAMPLES.agentList } },
    }).handle(async ({ query, context }) => jsonAnswer(200, await bus.call(listAgents, query, context))),
    defineOperation({
      id: 'getAgent',
      method: 'GET',
      path: '/v2/agents/{name}',
      tag: 'Directory',
      summary: 'The agent with exactly this name',
      description: 'Includes agents that are not discoverable, and revoked agents.',
      auth: 'optional',
      params: { name: { schema: AgentName, description: 'Exact name' } },
      responses: { 200: { description: 'The agent', schema: Agent, example: EXAMPLES.agent } },
      errors: ['not_found'],
    }).handle(async ({ params, context }) => {
      const { agent } = await bus.call(findAgentByName, params, context)
      if (agent === null) throw new ServiceError('not_found')
      return jsonAnswer(200, agent)
    }),
  ]
}
