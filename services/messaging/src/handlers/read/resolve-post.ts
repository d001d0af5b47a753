import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { resolvePost as resolvePostCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { textOfRow } from '../../domain/pages.ts'
import { listReceivers } from '../../store/posts.ts'
import { findMessage } from '../../store/read/messages.ts'

/**
 * Reads a post once for all streams of a process. The answer names the agents that have an event of the post and may read it
 * at this moment.
 */
export async function resolvePost(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  { id, board_id: boardId }: RequestOf<typeof resolvePostCall>,
  context: CallContext,
): Promise<ReplyOf<typeof resolvePostCall>> {
  const [post, receivers] = await Promise.all([
    database.run((sql) => findMessage(sql, null, id)),
    database.run((sql) => listReceivers(sql, boardId, id)),
  ])
  if (post === undefined || post.hidden || post.board !== boardId) return { meta: { subscribers: [] }, text: '' }
  const readers = await boards.listReaders(boardId, receivers, context)
  return { meta: { subscribers: [...readers] }, text: textOfRow(post) }
}
