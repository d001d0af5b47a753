import type { judgeBoards as judgeBoardsCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardsDeps } from '../deps.ts'
import { isSubscribed, judge, standingOf } from '../domain/access.ts'
import { findRoles } from '../store/access.ts'

/** Which of the boards an agent may read, and to which it is subscribed, now. Source: decisions 28, 31; issue 3, Posts. */
export async function judgeBoards(
  { database }: Pick<BoardsDeps, 'database'>,
  { agent_id, board_ids }: RequestOf<typeof judgeBoardsCall>,
): Promise<ReplyOf<typeof judgeBoardsCall>> {
  const boards = await database.run((sql) => findRoles(sql, agent_id, board_ids))
  const readable = boards.filter((board) => judge(board, standingOf(agent_id, board.role)).may_read)
  const subscribed = boards.filter((board) => isSubscribed(standingOf(agent_id, board.role)))
  return { readable: readable.map(({ id }) => id), subscribed: subscribed.map(({ id }) => id) }
}
