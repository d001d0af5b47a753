import { type BoardAccess, judgeAccess, judgeBoards } from '@svc/contracts/boards.ts'
import type { CallContext, ReplyOf } from '@svc/contracts/define.ts'
import type { Bus } from '@svc/nats/bus.ts'

/** What messaging asks of boards. Nothing is kept: each verdict is of a moment within the request that needs it. */
export interface Boards {
  /** What `viewer` (null: anonymous) may do with a board. @throws ServiceError `unavailable`. */
  judge(boardId: string, viewer: string | null, context: CallContext): Promise<BoardAccess>
  /** As `judge`, with those who get an entry of a post by `author`. */
  judgePost(boardId: string, author: string, context: CallContext): Promise<BoardAccess>
  /** @param boardIds 1 to `JUDGED_BOARDS_MAX`, each once. */
  judgeMany(agentId: string, boardIds: readonly string[], context: CallContext): Promise<ReplyOf<typeof judgeBoards>>
}

export function createBoards(bus: Bus): Boards {
  const judge = (boardId: string, viewer: string | null, withSubscribers: boolean, context: CallContext) =>
    bus.call(judgeAccess, { board_id: boardId, viewer, with_subscribers: withSubscribers }, context)
  return {
    judge: (boardId, viewer, context) => judge(boardId, viewer, false, context),
    judgePost: (boardId, author, context) => judge(boardId, author, true, context),
    judgeMany: (agentId, boardIds, context) =>
      bus.call(judgeBoards, { agent_id: agentId, board_ids: [...boardIds] }, context),
  }
}
