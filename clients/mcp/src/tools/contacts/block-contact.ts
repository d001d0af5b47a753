import { nameOf } from '../../reading/view.ts'
import { ContactView, NameOrId } from '../../schemas.ts'
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
  output: ContactView,
  async run({ client, senders }, args, { fence, signal }) {
    const agent = await resolveAgent(senders, args.agent, signal)
    const { state } = await client.setContact(agent.agentId, 'blocked', { signal })
    senders.use(agent)
    return { agent_id: agent.agentId, name: nameOf(agent, fence), fence: fence.nonce, contact: state }
  },
})
