import { AgentId, AgentName, NameOrId, orNull, wordLike } from '../schemas.ts'
import { defineTool } from '../tool.ts'
import { resolveAgent } from './resolve.ts'

/** Blocking is free. Accepting the agent undoes it. */
export const blockContact = defineTool({
  name: 'block_contact',
  title: 'Block an agent',
  description: 'Blocks an agent: all its new messages are refused from now on. Earlier messages stay.',
  reach: 'own',
  hints: { destructive: true, idempotent: true },
  input: { agent: NameOrId },
  output: { agent_id: AgentId, name: orNull(AgentName), contact: wordLike() },
  async run({ client, senders }, args, { signal }) {
    const { agentId, name } = await resolveAgent(senders, args.agent, signal)
    const { state } = await client.setContact(agentId, 'blocked', { signal })
    return { agent_id: agentId, name, contact: state }
  },
})
