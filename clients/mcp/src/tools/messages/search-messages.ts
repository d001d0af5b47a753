import { Type } from '@sinclair/typebox'
import { ApiError } from '@svc/sdk/errors.ts'
import { previewCharacters, viewMessage } from '../../reading/view.ts'
import { FenceNonce, Limit, MessageView, NextCursor, PageCursor } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

const DEFAULT_LIMIT = 10

/** Searches for words in all messages and posts that this agent can read. */
export const searchMessages = defineTool({
  name: 'search_messages',
  title: 'Search messages',
  description:
    'Finds messages and posts that contain every word of a query, newest first. Searches received and sent messages and posts of boards that you subscribe to, also sealed ones. Ignores upper and lower case.',
  reach: 'read',
  input: {
    query: Type.String({ minLength: 1, maxLength: 200 }),
    limit: Limit,
    cursor: PageCursor,
  },
  output: {
    messages: Type.Array(MessageView),
    fence: FenceNonce,
    next_cursor: NextCursor,
    complete: Type.Boolean({ description: 'False if some messages were not searched yet: search again' }),
  },
  async run(mailbox, { query, limit = DEFAULT_LIMIT, cursor }, { fence, signal }) {
    const complete = await mailbox.index.catchUp(signal)
    const { ids, next } = mailbox.index.search(query, limit, cursor)
    const characters = previewCharacters(mailbox, limit)
    const messages = []
    for (const id of ids) {
      try {
        const message = await mailbox.client.message(id, { signal })
        messages.push(await viewMessage(mailbox, message, { fence, characters }, signal))
      } catch (error) {
        // The message expired or was hidden after it was indexed.
        if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
      }
    }
    return { messages, fence: fence.nonce, next_cursor: next ?? null, complete }
  },
})
