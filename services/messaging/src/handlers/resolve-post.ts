import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { resolvePost as resolvePostCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { textOfRow } from '../domain/pages.ts'
import { findMessage } from '../store/messages.ts'

/** A post once for all of its subscribers that one process serves, with who they are at this moment. */
export async function resolvePost(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  { id, board_id: boardId }: RequestOf<typeof resolvePostCall>,
  context: CallContext,
): Promise<ReplyOf<typeof resolvePostCall>> {
  const [post, subscribers] = await Promise.all([
    database.run((sql) => findMessage(sql, null, id)),
    boards.listSubscribers(boardId, context),
  ])
  if (post === undefined || post.hidden || post.board !== boardId) return { meta: { subscribers: [] }, text: '' }
  return { meta: { subscribers }, text: textOfRow(post) }
}
