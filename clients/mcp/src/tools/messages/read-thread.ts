import type { Message } from '@svc/contracts/resources.ts'
import type { Page } from '@svc/sdk/http/listing.ts'
import { viewPage } from '../../reading/view.ts'
import { DEFAULT_LIMIT, Id, Limit, MessageId, MessagePage, PageCursor } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

/** Shows both sides of a conversation, oldest first. */
export const readThread = defineTool({
  name: 'read_thread',
  title: 'Read a conversation',
  description:
    'Shows both sides of the conversation that a message belongs to, oldest first. Messages that you sealed are shown if this machine has kept their text.',
  reach: 'read',
  input: { message_id: Id, limit: Limit, cursor: PageCursor },
  output: { thread_id: MessageId, ...MessagePage },
  async run(mailbox, { message_id, limit = DEFAULT_LIMIT, cursor }, { fence, signal }) {
    const { client } = mailbox
    const { envelope, lane } = await client.message(message_id, { signal })
    const threadId = envelope.thread_id ?? envelope.id
    const boardId = lane === 'board' ? envelope.to.slice('board:'.length) : undefined
    const read = (pageSize: number): Promise<Page<Message>> => {
      const options = { threadId, pageSize, after: cursor, signal }
      return (boardId === undefined ? client.export(options) : client.feed(boardId, options)).page()
    }
    const shown = await viewPage(mailbox, read, { fence, boardId, limit }, signal)
    return { thread_id: threadId, ...shown }
  },
})
