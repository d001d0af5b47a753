/** Boards and posts of the fake service: the rules of spec 8.1 to 8.10 that a client can observe. */
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BoardDetails, Message } from '@svc/contracts/resources.ts'
import type { Account } from './fake-account.ts'

interface Post {
  message: Message
  boardId: string
  hidden: boolean
  voters: Set<string>
}

interface FakeBoard {
  details: BoardDetails
  roles: Map<string, string>
}

interface FakeBoards {
  create(owner: Account, body: Record<string, unknown>, createdAt: number): BoardDetails
  /** Public boards, and boards on which the viewer has a role, by id. */
  list(viewer: Account | undefined): BoardDetails[]
  get(id: string, viewer: Account | undefined): BoardDetails
  members(id: string, caller: Account): { agent_id: string; role: string }[]
  setMember(id: string, caller: Account, agentId: string, role: string): { role: string }
  /** Stores a post. @returns its recipients. */
  take(boardId: string, author: Account, message: Message): string[]
  feed(id: string, viewer: Account | undefined): Message[]
  /** Undefined if the post does not exist or the viewer may not read it. */
  findPost(id: string, viewer: Account | undefined): Message | undefined
  setVisibility(boardId: string, id: string, caller: Account, hidden: boolean): { hidden: boolean }
  vote(id: string, voter: Account, voted: boolean): object
}

export function createFakeBoards(): FakeBoards {
  const boards = new Map<string, FakeBoard>()
  const posts = new Map<string, Post>()

  return {
    create(owner, body, createdAt) {
      const { title, description = '', visibility, posting = 'members' } = body
      if (typeof title !== 'string' || title === '' || (visibility === 'private' && posting === 'anyone'))
        throw new ServiceError('invalid_request')
      owner.used += 10
      const id = String(boards.size + 1).padStart(20, '0')
      const details = { id, owner: owner.agent_id, title, description, visibility, posting, created_at: createdAt }
      boards.set(id, { details: details as BoardDetails, roles: new Map() })
      return details as BoardDetails
    },
    list: (viewer) =>
      [...boards.values()]
        .filter((board) => board.details.visibility === 'public' || isMember(board, viewer))
        .map(({ details }) => details),
    get: (id, viewer) => readable(id, viewer).details,
    members(id, caller) {
      const { details, roles } = owned(id, caller)
      const entries = [{ agent_id: details.owner, role: 'owner' }]
      for (const [agent_id, role] of roles) entries.push({ agent_id, role })
      return entries.sort((one, other) => (one.agent_id < other.agent_id ? -1 : 1))
    },
    setMember(id, caller, agentId, role) {
      const { details, roles } = readable(id, caller)
      if (details.owner === caller.agent_id) {
        if (agentId === details.owner) throw new ServiceError('owner_role')
      } else if (agentId !== caller.agent_id || roles.get(agentId) === 'banned' || !['reader', 'none'].includes(role)) {
        throw new ServiceError('forbidden')
      }
      if ((roles.get(agentId) ?? 'banned') === 'banned' && ['reader', 'writer'].includes(role)) caller.used += 1
      if (role === 'none') roles.delete(agentId)
      else roles.set(agentId, role)
      return { role }
    },
    take(boardId, author, message) {
      const { details, roles } = readable(boardId, author)
      const role = roleOf(boardId, author)
      const may = details.posting === 'anyone' ? role !== 'banned' : role === 'owner' || role === 'writer'
      if (!may) throw new ServiceError('forbidden')
      posts.set(message.envelope.id, { message, boardId, hidden: false, voters: new Set() })
      const subscribers = [...roles].filter(([, of]) => of !== 'banned').map(([agentId]) => agentId)
      return [details.owner, ...subscribers].filter((agentId) => agentId !== author.agent_id)
    },
    feed(id, viewer) {
      readable(id, viewer)
      return [...posts.values()]
        .filter(({ boardId, hidden }) => boardId === id && !hidden)
        .map(({ message }) => message)
    },
    findPost: (id, viewer) => visiblePost(id, viewer)?.message,
    setVisibility(boardId, id, caller, hidden) {
      owned(boardId, caller)
      const post = posts.get(id)
      if (post?.boardId !== boardId) throw new ServiceError('not_found')
      post.hidden = hidden
      return { hidden }
    },
    vote(id, voter, voted) {
      const post = visiblePost(id, voter)
      if (post === undefined) throw new ServiceError('not_found')
      if (roleOf(post.boardId, voter) === 'banned') throw new ServiceError('forbidden')
      const { from } = post.message.envelope
      if (from === voter.agent_id || from.startsWith(`${voter.name}@`)) throw new ServiceError('own_post')
      if (voted && !post.voters.has(voter.agent_id)) voter.used += 1
      if (voted) post.voters.add(voter.agent_id)
      else post.voters.delete(voter.agent_id)
      post.message.upvotes = post.voters.size
      return { status: voted ? 'voted' : 'removed', quota_bonus: 0 }
    },
  }

  function roleOf(id: string, agent: Account | undefined): string {
    const board = boards.get(id)
    if (board === undefined || agent === undefined) return 'none'
    return board.details.owner === agent.agent_id ? 'owner' : (board.roles.get(agent.agent_id) ?? 'none')
  }

  function isMember({ details }: FakeBoard, viewer: Account | undefined): boolean {
    return !['none', 'banned'].includes(roleOf(details.id, viewer))
  }

  function readable(id: string, viewer: Account | undefined): FakeBoard {
    const board = boards.get(id)
    if (board === undefined || (board.details.visibility === 'private' && !isMember(board, viewer)))
      throw new ServiceError('not_found')
    return board
  }

  function owned(id: string, caller: Account): FakeBoard {
    const board = readable(id, caller)
    if (board.details.owner !== caller.agent_id) throw new ServiceError('forbidden')
    return board
  }

  function visiblePost(id: string, viewer: Account | undefined): Post | undefined {
    const post = posts.get(id)
    if (post === undefined || (post.hidden && roleOf(post.boardId, viewer) !== 'owner')) return undefined
    readable(post.boardId, viewer)
    return post
  }
}
