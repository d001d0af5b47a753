import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { setVisibility as setVisibilityCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { checkModerate } from '../../domain/board-access.ts'
import { lockPost, setHidden } from '../../store/posts.ts'

type Request = RequestOf<typeof setVisibilityCall>
type Result = ReplyOf<typeof setVisibilityCall>

/**
 * Hides or restores a post; idempotent. It refuses everybody but the board's owner before it looks for the post, so the answer
 * reveals nothing about hidden posts. Free, and never calls budget (spec 11.2).
 */
export async function setVisibility(
  { database, boards }: Pick<Deps, 'database' | 'boards'>,
  { caller, board_id: boardId, id, hidden }: Request,
  context: CallContext,
): Promise<Result> {
  checkModerate(await boards.judge(boardId, caller, context))
  await database.transaction(async (tx) => {
    const post = await lockPost(tx, boardId, id)
    if (post === undefined) throw new ServiceError('not_found')
    if (post.hidden !== hidden) await setHidden(tx, id, hidden)
  }, id)
  return { hidden }
}
