import type { judgeAccess as judgeAccessCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardsDeps } from '../deps.ts'
import { judge, NOTHING, standingOf } from '../domain/access.ts'

/** What a viewer may do with a board, and who gets a post of its; all of one moment. Source: spec 8.4, 8.8, 8.9, 8.10. */
export async function judgeAccess(
  { findAccess }: Pick<BoardsDeps, 'findAccess'>,
  { board_id, viewer, with_subscribers }: RequestOf<typeof judgeAccessCall>,
): Promise<ReplyOf<typeof judgeAccessCall>> {
  const board = await findAccess({ boardId: board_id, viewer, withSubscribers: with_subscribers })
  if (board === undefined) return { ...NOTHING, subscribers: [] }
  const verdicts = judge(board, standingOf(viewer, board.role))
  return { ...verdicts, subscribers: verdicts.may_post ? board.subscribers : [] }
}
