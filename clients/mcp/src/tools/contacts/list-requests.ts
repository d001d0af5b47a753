import type { Message } from '@svc/contracts/resources.ts'
import type { Page } from '@svc/sdk/http/listing.ts'
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
    const read = (pageSize: number): Promise<Page<Message>> =>
      mailbox.client.inbox({ lane: 'requests', pageSize, after: cursor, signal }).page()
    return viewPage(mailbox, read, { fence, limit }, signal)
  },
})
