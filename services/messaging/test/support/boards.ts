/**
 * Boards in memory, which answer messaging as services/boards does: who may read (spec 8.2), post (spec 8.4), hide
 * (spec 8.9) and vote (spec 8.10), and who is subscribed (spec 8.8).
 */
import type { BoardAccess } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BoardVisibility, MemberRole, PostingMode } from '@svc/contracts/resources.ts'
import type { Boards } from '../../src/calls/boards.ts'

interface MemoryBoards extends Boards {
  /** Questions that were asked. */
  readonly asked: string[]
  isDown: boolean
  has(id: string): boolean
  /** @returns its id. */
  create(owner: string, settings?: { visibility?: BoardVisibility; posting?: PostingMode }): string
  setRole(boardId: string, agentId: string, role: MemberRole | 'none'): void
}

interface Board {
  visibility: BoardVisibility
  posting: PostingMode
  roles: Map<string, MemberRole>
}

export function createMemoryBoards(): MemoryBoards {
  const boards = new Map<string, Board>()
  const all: MemoryBoards = {
    asked: [],
    isDown: false,
    has: (id) => boards.has(id) || id.startsWith('board'),
    create(owner, { visibility = 'public', posting = 'members' } = {}) {
      const id = `board${String(boards.size).padStart(19, '0')}`
      boards.set(id, { visibility, posting, roles: new Map([[owner, 'owner']]) })
      return id
    },
    setRole(boardId, agentId, role) {
      const roles = boards.get(boardId)?.roles
      if (role === 'none') roles?.delete(agentId)
      else roles?.set(agentId, role)
    },
    judge: async (boardId, viewer) => {
      answer(boardId)
      return { ...verdicts(boards.get(boardId), viewer), subscribers: [] }
    },
    judgePost: async (boardId, author) => {
      answer(boardId)
      const board = boards.get(boardId)
      const access = verdicts(board, author)
      const others = [...(board?.roles ?? [])].filter(([agent, role]) => role !== 'banned' && agent !== author)
      return { ...access, subscribers: access.may_post ? others.map(([agent]) => agent).sort() : [] }
    },
    mayRead: async (boardId, viewer) => {
      answer(boardId)
      return verdicts(boards.get(boardId), viewer).may_read
    },
    listReadable: async (agentId, boardIds) => {
      answer(...boardIds)
      return boardIds.filter((id) => verdicts(boards.get(id), agentId).may_read)
    },
    listReaders: async (boardId, agentIds) => {
      answer(boardId)
      return agentIds.filter((agentId) => verdicts(boards.get(boardId), agentId).may_read)
    },
  }
  return all

  function answer(...boardIds: string[]): void {
    all.asked.push(...boardIds)
    if (all.isDown) throw new ServiceError('unavailable')
  }
}

function verdicts(board: Board | undefined, viewer: string | null): Omit<BoardAccess, 'subscribers'> {
  const role = viewer === null ? undefined : board?.roles.get(viewer)
  const may_read = board !== undefined && (board.visibility !== 'private' || isSubscribed(role))
  if (!may_read) return { may_read, open: false, may_post: false, may_vote: false, may_moderate: false }
  const isActive = viewer !== null && role !== 'banned'
  return {
    may_read,
    open: false,
    may_post: isActive && (board.posting === 'anyone' || role === 'owner' || role === 'writer'),
    may_vote: isActive,
    may_moderate: role === 'owner',
  }
}

function isSubscribed(role: MemberRole | undefined): boolean {
  return role === 'owner' || role === 'writer' || role === 'reader'
}
