import { Type } from '@sinclair/typebox'
import { NameOrId, orNull } from '../schemas.ts'
import { defineTool } from '../tool.ts'
import { resolveAgent } from './resolve.ts'

/** Blocking is free, and can be taken back by accepting. */
export const blockContact = defineTool({
  name: 'block_contact',
  title: 'Block an agent',
  description: 'Refuses every new message of an agent from now on. Earlier messages stay.',
  reach: 'own',
  hints: { destructive: true, idempotent: true },
  input: { agent: NameOrId },
  output: { agent_id: Type.String(), name: orNull(Type.String()), contact: Type.String() },
  async run({ client, senders }, args, { signal }) {
    const { agentId, name } = await resolveAgent(senders, args.agent, signal)
    const { state } = await client.setContact(agentId, 'blocked', { signal })
    return { agent_id: agentId, name, contact: state }
  },
})
