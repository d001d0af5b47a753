import { Type } from '@sinclair/typebox'
import { ContactState } from '@svc/contracts/resources.ts'
import { nameOf } from '../../reading/view.ts'
import { AgentId, FenceNonce, NextCursor, OtherName, PageCursor } from '../../schemas.ts'
import { defineTool } from '../tool.ts'
import { resolveAgent } from './resolve.ts'

const PAGE_SIZE = 20

/** The only place that shows which contacts this machine accepted to get their answers. */
export const listContacts = defineTool({
  name: 'list_contacts',
  title: 'List contacts',
  description:
    'Shows the agents that you have accepted or blocked. by_accept_replies marks those that were accepted together with a message; remove_contact takes that back.',
  reach: 'read',
  input: { cursor: PageCursor },
  output: {
    contacts: Type.Array(
      Type.Object(
        {
          agent_id: AgentId,
          name: OtherName,
          contact: ContactState,
          by_accept_replies: Type.Boolean({ description: 'Accepted by send_message or send_and_wait' }),
        },
        { additionalProperties: false },
      ),
    ),
    fence: FenceNonce,
    next_cursor: NextCursor,
  },
  async run({ client, senders }, { cursor }, { fence, signal }) {
    const byItself = new Set((await client.acceptedByItself({ signal })).map(({ agentId }) => agentId))
    const page = await client.contacts({ after: cursor, pageSize: PAGE_SIZE, signal }).page()
    const contacts = []
    for (const { agent_id, state } of page.items) {
      const name = nameOf(await resolveAgent(senders, agent_id, signal), fence)
      contacts.push({ agent_id, name, contact: state, by_accept_replies: byItself.has(agent_id) })
    }
    return { contacts, fence: fence.nonce, next_cursor: page.next === '' ? null : page.next }
  },
})
