import { type BoardAccess, judgeAccess, judgeBoards, listSubscribers } from '@svc/contracts/boards.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { unlessFault } from '@svc/contracts/errors.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { LRUCache } from 'lru-cache'

/**
 * The questions that messaging asks the boards service. A `viewer` of null is anonymous. Every answer is fetched during the
 * request that needs it. The only cached fact is that a board is open to everybody, for a second: its visibility never changes, but
 * an operator may take it down.
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
/** An operator may take an open board down (spec 12.4). No reader finds it after this time, and that of one call. */
const FRESH_MS = 1_000
/** A remembered board waits this long for a newer answer. If the boards service does not answer, the remembered board still counts as open. */
const REFRESH_MS = 500

export function createBoards(bus: Bus): Boards {
  /** When each board was last found open. */
  const openBoards = new LRUCache<string, number>({ max: MAX_OPEN_BOARDS })

  const isFresh = (id: string) => performance.now() - (openBoards.get(id) ?? Number.NEGATIVE_INFINITY) < FRESH_MS

  function remember(asked: readonly string[], open: readonly string[], askedMs: number): void {
    for (const id of asked) openBoards.delete(id)
    for (const id of open) openBoards.set(id, askedMs)
  }

  /** Asks the boards service. If it does not answer, and all requested boards were found open before, they count as open. */
  async function ask<T>(ids: readonly string[], context: CallContext, call: (context: CallContext) => Promise<T>) {
    if (!ids.every((id) => openBoards.has(id))) return call(context)
    const deadlineMs = Math.min(context.deadlineMs, Date.now() + REFRESH_MS)
    return call({ ...context, deadlineMs }).catch(unlessFault(undefined))
  }

  async function judge(boardId: string, viewer: string | null, forPost: boolean, context: CallContext) {
    const question = { board_id: boardId, viewer, with_subscribers: forPost }
    const askedMs = performance.now()
    const access = await bus.call(judgeAccess, question, context)
    remember([boardId], access.open ? [boardId] : [], askedMs)
    return access
  }

  return {
    judge: (boardId, viewer, context) => judge(boardId, viewer, false, context),
    judgePost: (boardId, author, context) => judge(boardId, author, true, context),
    async mayRead(boardId, viewer, context) {
      if (isFresh(boardId)) return true
      const access = await ask([boardId], context, (limited) => judge(boardId, viewer, false, limited))
      return access === undefined || access.may_read
    },
    async listReadable(agentId, boardIds, context) {
      const unknown = boardIds.filter((id) => !isFresh(id))
      if (unknown.length === 0) return boardIds
      const question = { agent_id: agentId, board_ids: unknown }
      const askedMs = performance.now()
      const judged = await ask(unknown, context, (limited) => bus.call(judgeBoards, question, limited))
      if (judged === undefined) return boardIds
      remember(unknown, judged.open, askedMs)
      return boardIds.filter((id) => judged.readable.includes(id) || !unknown.includes(id))
    },
    async listReaders(boardId, agentIds, context) {
      if (isFresh(boardId)) return agentIds
      const question = { board_id: boardId }
      const askedMs = performance.now()
      const readers = await ask([boardId], context, (limited) => bus.call(listSubscribers, question, limited))
      if (readers === undefined) return agentIds
      remember([boardId], readers.open ? [boardId] : [], askedMs)
      return readers.open ? agentIds : agentIds.filter((id) => readers.subscribers.includes(id))
    },
  }
}
