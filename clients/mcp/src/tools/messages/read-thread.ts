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
    const options = { threadId, pageSize: limit, after: cursor, signal }
    const boardId = lane === 'board' ? envelope.to.slice('board:'.length) : undefined
    const listing = boardId === undefined ? client.export(options) : client.feed(boardId, options)
    const shown = await viewPage(mailbox, await listing.page(), { fence, boardId, limit }, signal)
    return { thread_id: threadId, ...shown }
  },
})
