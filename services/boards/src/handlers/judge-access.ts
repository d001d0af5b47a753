import type { judgeAccess as judgeAccessCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardsDeps } from '../deps.ts'
import { judge, NOTHING, standingOf } from '../domain/access.ts'

/**
 * Says whether a viewer may read (spec 8.2), post (spec 8.4), hide (spec 8.9) and vote (spec 8.10), and who gets
 * its posts (spec 8.8). The whole answer is from one snapshot.
 */
export async function judgeAccess(
  { findAccess }: Pick<BoardsDeps, 'findAccess'>,
  { board_id, viewer, with_subscribers }: RequestOf<typeof judgeAccessCall>,
): Promise<ReplyOf<typeof judgeAccessCall>> {
  const board = await findAccess({ boardId: board_id, viewer, withSubscribers: with_subscribers })
  if (board === undefined) return { ...NOTHING, subscribers: [] }
  const verdicts = judge(board, standingOf(viewer, board.role))
  return { ...verdicts, subscribers: verdicts.may_post ? board.subscribers : [] }
}
