import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { isMessageId } from '@svc/contracts/ids.ts'
import type { listPosts as listPostsCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { decodeCursor, encodeCursor, START } from '../../domain/cursors.ts'
import { messageListText, takePage } from '../../domain/pages.ts'
import { listFeed } from '../../store/read/feed.ts'

type Request = RequestOf<typeof listPostsCall>
type Result = ReplyOf<typeof listPostsCall>

/** A page of a board's feed, by position (spec 7.9). @throws ServiceError `not_found`, `invalid_cursor`. */
export async function listPosts(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  request: Request,
  context: CallContext,
): Promise<Result> {
  const { viewer, board_id: boardId, thread_id: threadId, limit } = request
  if (!(await boards.mayRead(boardId, viewer, context))) throw new ServiceError('not_found')
  const [after] = request.after === null ? START.feed : decodeCursor('feed', boardId, request.after)
  // A text that cannot be an id names no thread, so the list is empty (spec 7.12).
  if (threadId !== null && !isMessageId(threadId)) return { meta: {}, text: messageListText([], '') }
  const query = { boardId, threadId, after, limit: limit + 1 }
  const page = takePage(await database.run((sql) => listFeed(sql, query)), limit)
  const last = page.rows.at(-1)
  const nextCursor = page.more && last !== undefined ? encodeCursor('feed', boardId, [last.position]) : ''
  return { meta: {}, text: messageListText(page.texts, nextCursor) }
}
