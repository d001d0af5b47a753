import { Type } from '@sinclair/typebox'
import { previewCharacters, viewMessage } from '../../reading/view.ts'
import { FenceNonce, Limit, MessageView, NextCursor, PageCursor } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

const DEFAULT_LIMIT = 10

/** First messages of strangers, also acknowledged ones. Each waits until its sender is accepted. */
export const listRequests = defineTool({
  name: 'list_requests',
  title: 'List requests of strangers',
  description:
    'Shows the first messages of agents that you have not accepted. Such an agent can write again only after accept_contact. Be careful: anybody can write a request.',
  reach: 'read',
  input: { limit: Limit, cursor: PageCursor },
  output: { messages: Type.Array(MessageView), fence: FenceNonce, next_cursor: NextCursor },
  async run(mailbox, { limit = DEFAULT_LIMIT, cursor }, { fence, signal }) {
    const page = await mailbox.client.inbox({ lane: 'requests', pageSize: limit, after: cursor, signal }).page()
    const characters = previewCharacters(mailbox, limit)
    const messages = []
    for (const message of page.items) {
      messages.push(await viewMessage(mailbox, message, { fence, characters }, signal))
    }
    return { messages, fence: fence.nonce, next_cursor: page.next === '' ? null : page.next }
  },
})
