import { type BoardAccess, judgeAccess, judgeBoards, listSubscribers } from '@svc/contracts/boards.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { LRUCache } from 'lru-cache'

/**
 * The questions that messaging asks the boards service. A `viewer` of null is anonymous. Every answer is fetched during the
 * request that needs it. The only cached fact is that a board is open to everybody, because that never changes.
 * Every method throws ServiceError `unavailable`.
 */
export interface Boards {
  /** What `viewer` may do with a board. */
  judge(boardId: string, viewer: string | null, context: CallContext): Promise<BoardAccess>
  /** Like `judge`, and also lists the agents whose logs get an entry for a post by `author`. */
  judgePost(boardId: string, author: string, context: CallContext): Promise<BoardAccess>
  /** Whether `viewer` may read a board: its feed, and its posts by id that are not hidden (spec 8.2). */
  mayRead(boardId: string, viewer: string | null, context: CallContext): Promise<boolean>
  /** `mayRead` for one agent and many boards. @param boardIds 1 to `JUDGED_BOARDS_MAX`, each once. */
  listReadable(agentId: string, boardIds: readonly string[], context: CallContext): Promise<readonly string[]>
  /** `mayRead` for many agents and one board. @returns the agents that may read it. */
  listReaders(boardId: string, agentIds: readonly string[], context: CallContext): Promise<readonly string[]>
}

/** About 100 bytes each. A full cache evicts the least recently used board, and boards is asked about it again. */
const MAX_OPEN_BOARDS = 50_000

export function createBoards(bus: Bus): Boards {
  const openBoards = new LRUCache<string, true>({ max: MAX_OPEN_BOARDS })

  async function judge(boardId: string, viewer: string | null, forPost: boolean, context: CallContext) {
    const question = { board_id: boardId, viewer, with_subscribers: forPost }
    const access = await bus.call(judgeAccess, question, context)
    if (access.open) openBoards.set(boardId, true)
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
      const question = { agent_id: agentId, board_ids: unknown }
      const { readable, open } = await bus.call(judgeBoards, question, context)
      for (const id of open) openBoards.set(id, true)
      return boardIds.filter((id) => readable.includes(id) || !unknown.includes(id))
    },
    async listReaders(boardId, agentIds, context) {
      if (openBoards.get(boardId) === true) return agentIds
      const { open, subscribers } = await bus.call(listSubscribers, { board_id: boardId }, context)
      if (!open) return agentIds.filter((id) => subscribers.includes(id))
      openBoards.set(boardId, true)
      return agentIds
    },
  }
}
