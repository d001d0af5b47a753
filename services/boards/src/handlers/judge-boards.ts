import type { judgeBoards as judgeBoardsCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardsDeps } from '../deps.ts'
import { judge, standingOf } from '../domain/access.ts'
import { findRoles } from '../store/access.ts'

/** Says which of the boards an agent may read now: public and unlisted ones, and those to which it belongs (spec 8.2). */
export async function judgeBoards(
  { database }: Pick<BoardsDeps, 'database'>,
  { agent_id, board_ids }: RequestOf<typeof judgeBoardsCall>,
): Promise<ReplyOf<typeof judgeBoardsCall>> {
  const boards = await database.run((sql) => findRoles(sql, agent_id, board_ids))
  const judged = boards.map((board) => ({ ...board, ...judge(board, standingOf(agent_id, board.role)) }))
  return {
    readable: judged.filter(({ may_read }) => may_read).map(({ id }) => id),
    open: judged.filter(({ open }) => open).map(({ id }) => id),
  }
}
