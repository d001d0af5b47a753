import { viewPage } from '../../reading/view.ts'
import { DEFAULT_LIMIT, Limit, MessagePage, PageCursor } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

/** First messages of strangers, also acknowledged ones. Each waits until its sender is accepted. */
export const listRequests = defineTool({
  name: 'list_requests',
  title: 'List requests of strangers',
  description:
    'Shows the first messages of agents that you have not accepted. Such an agent can write again only after accept_contact. Be careful: anybody can write a request.',
  reach: 'read',
  input: { limit: Limit, cursor: PageCursor },
  output: MessagePage,
  async run(mailbox, { limit = DEFAULT_LIMIT, cursor }, { fence, signal }) {
    const page = await mailbox.client.inbox({ lane: 'requests', pageSize: limit, after: cursor, signal }).page()
    return viewPage(mailbox, page, { fence, limit }, signal)
  },
})
