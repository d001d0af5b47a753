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
  /** Whether `viewer` may read a board: its feed, and its posts by id that are not hidden (spec 8.2). */
  mayRead(boardId: string, viewer: string | null, context: CallContext): Promise<boolean>
  /** `mayRead` for many boards of one agent. @param boardIds 1 to `JUDGED_BOARDS_MAX`, each once. */
  listReadable(agentId: string, boardIds: readonly string[], context: CallContext): Promise<readonly string[]>
  /** `mayRead` for many agents of one board: those of them that may read it. */
  listReaders(boardId: string, agentIds: readonly string[], context: CallContext): Promise<readonly string[]>
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
      const question = { agent_id: agentId, board_ids: unknown }
      const { readable, open = [] } = await bus.call(judgeBoards, question, context)
      for (const id of open) openBoards.set(id, true)
      return boardIds.filter((id) => readable.includes(id) || !unknown.includes(id))
    },
    async listReaders(boardId, agentIds, context) {
      if (openBoards.get(boardId) === true) return agentIds
      const { open, subscribers } = await bus.call(listSubscribers, { board_id: boardId }, context)
      if (open !== true) return agentIds.filter((id) => subscribers.includes(id))
      openBoards.set(boardId, true)
      return agentIds
    },
  }
}
