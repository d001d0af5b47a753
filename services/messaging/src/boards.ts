import { type BoardAccess, judgeAccess, judgeBoards, listSubscribers } from '@svc/contracts/boards.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { LRUCache } from 'lru-cache'

/**
 * What messaging asks of boards; `viewer` null: anonymous. Each verdict is of a moment within the request that needs it, and
 * nothing is kept but which boards everybody may read, for ever. All throw ServiceError `unavailable`.
 */
export interface Boards {
  /** What `viewer` may do with a board. */
  judge(boardId: string, viewer: string | null, context: CallContext): Promise<BoardAccess>
  /** As `judge`, with those who get an entry of a post by `author`. */
  judgePost(boardId: string, author: string, context: CallContext): Promise<BoardAccess>
  /** Whether `viewer` may read a board: its feed, and its posts by id that are not hidden (decisions 28). */
  mayRead(boardId: string, viewer: string | null, context: CallContext): Promise<boolean>
  /** Those of the boards that the agent may read. @param boardIds 1 to `JUDGED_BOARDS_MAX`, each once. */
  listReadable(agentId: string, boardIds: readonly string[], context: CallContext): Promise<readonly string[]>
  /** Those of the boards whose posts are the agent's events (decisions 31). @param boardIds as for `listReadable`. */
  listSubscribed(agentId: string, boardIds: readonly string[], context: CallContext): Promise<readonly string[]>
  /** Those whose events the posts of a board are (decisions 31). */
  listSubscribers(boardId: string, context: CallContext): Promise<string[]>
}

/** Some 100 bytes each; past that the board read longest ago is asked about again. */
const MAX_OPEN_BOARDS = 50_000

export function createBoards(bus: Bus): Boards {
  const openBoards = new LRUCache<string, true>({ max: MAX_OPEN_BOARDS })

  async function judge(boardId: string, viewer: string | null, forPost: boolean, context: CallContext) {
    const question = { board_id: boardId, viewer, with_subscribers: forPost }
    const access = await bus.call(judgeAccess, question, context)
    if (access.open === true) openBoards.set(boardId, true)
    return access
  }

  return {
    judge: (boardId, viewer, context) => judge(boardId, viewer, false, context),
    judgePost: (boardId, author, context) => judge(boardId, author, true, context),
    async mayRead(boardId, viewer, context) {
      return openBoards.get(boardId) === true || (await judge(boardId, viewer, false, context)).may_read
    },
    async listReadable(agentId, boardIds, context) {
      const unknown = boardIds.filter((id) => openBoards.get(id) === undefined)
      if (unknown.length === 0) return boardIds
      const { readable } = await bus.call(judgeBoards, { agent_id: agentId, board_ids: unknown }, context)
      return boardIds.filter((id) => readable.includes(id) || !unknown.includes(id))
    },
    async listSubscribed(agentId, boardIds, context) {
      const answer = await bus.call(judgeBoards, { agent_id: agentId, board_ids: [...boardIds] }, context)
      return answer.subscribed
    },
    async listSubscribers(boardId, context) {
      return (await bus.call(listSubscribers, { board_id: boardId }, context)).subscribers
    },
  }
}
