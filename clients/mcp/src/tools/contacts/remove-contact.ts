import { ToolError } from '../../output/tool-error.ts'
import { nameOf } from '../../reading/view.ts'
import { ContactView, NameOrId } from '../../schemas.ts'
import { defineTool } from '../tool.ts'
import { resolveAgent } from './resolve.ts'

/** Takes an acceptance back, and never a block: a text of others must not talk a model into that. */
export const removeContact = defineTool({
  name: 'remove_contact',
  title: 'Remove a contact',
  description:
    'Takes the acceptance of an agent back: its next message is a request again. Free. A blocked agent stays blocked.',
  reach: 'own',
  hints: { idempotent: true },
  input: { agent: NameOrId },
  output: ContactView,
  async run(mailbox, args, { fence, signal }) {
    const { client, senders } = mailbox
    const agent = await resolveAgent(senders, args.agent, signal)
    const { agentId } = agent
    return mailbox.exclusively(async () => {
      if ((await client.contactState(agentId, { signal })) === 'blocked')
        throw new ToolError('blocked', 'you have blocked this agent. Only the person you work for can undo that.')
      const { state } = await client.setContact(agentId, 'none', { signal })
      senders.use(agent)
      return { agent_id: agentId, name: nameOf(agent, fence), fence: fence.nonce, contact: state }
    }, signal)
  },
})
