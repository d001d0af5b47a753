import { Type } from '@sinclair/typebox'
import { isCode } from '@svc/sdk/errors.ts'
import { viewFitting } from '../../reading/view.ts'
import { DEFAULT_LIMIT, Limit, MessagePage, PageCursor } from '../../schemas.ts'
import { defineTool } from '../tool.ts'

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
    ...MessagePage,
    complete: Type.Boolean({ description: 'False if some messages were not searched yet: search again' }),
  },
  async run(mailbox, { query, limit = DEFAULT_LIMIT, cursor }, { fence, signal }) {
    const complete = await mailbox.index.catchUp(signal)
    const { ids, next } = mailbox.index.search(query, limit, cursor)
    const found = []
    for (const id of ids) {
      try {
        found.push(await mailbox.client.message(id, { signal }))
      } catch (error) {
        // The message expired or was hidden after it was indexed.
        if (!isCode(error, 'not_found')) throw error
      }
    }
    const messages = await viewFitting(mailbox, found, { fence, limit }, signal)
    // The search continues after the last message that is shown.
    const last = messages.length < found.length ? messages.at(-1)?.message_id : next
    return { messages, fence: fence.nonce, next_cursor: last ?? null, complete }
  },
})
