/** The calls of the boards service. */
import { type Static, Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId, BoardId } from './ids.ts'
import { LIMITS } from './limits.ts'
import { Board, BoardDetails, BoardList, closed, MemberList, Membership } from './resources.ts'

/** The agent on whose behalf the call is made; null if anonymous. */
const Viewer = Type.Union([AgentId, Type.Null()])

/** Creates a board of `owner` for 10 units (spec 8.1, 11.2). Codes: `invalid_request`, `board_limit`, budget's. */
export const createBoard = defineCall({
  subject: 'svc.boards.create-board',
  request: closed({ owner: AgentId, board: Board }),
  reply: BoardDetails,
  isAnswerTo: (asked, { owner }) => owner === asked.owner,
})

/** Lists public boards and the boards that the viewer belongs to, by id (spec 7.9, 8.2, 8.3). `after` need not exist. */
export const listBoards = defineCall({
  subject: 'svc.boards.list-boards',
  request: closed({
    viewer: Viewer,
    after: Type.String(),
    limit: Type.Integer({ minimum: LIMITS.pageSizeMin, maximum: LIMITS.pageSizeMax }),
  }),
  reply: BoardList,
})

/** Returns one board (spec 8.2, 8.3). Codes: `not_found`, even if the board exists but the viewer may not read it. */
export const getBoard = defineCall({
  subject: 'svc.boards.get-board',
  request: closed({ viewer: Viewer, board_id: BoardId }),
  reply: BoardDetails,
  isAnswerTo: ({ board_id }, { id }) => id === board_id,
})

/**
 * Lists the owner and all records of a board in byte order of the id, for its owner only. Codes: `not_found`,
 * `forbidden`.
 */
export const listMembers = defineCall({
  subject: 'svc.boards.list-members',
  request: closed({ caller: AgentId, board_id: BoardId }),
  reply: MemberList,
})

/** The directory's status of the agent that gets a role. An agent that sets its own role is `active`. */
export const AgentStanding = Type.Union([Type.Literal('active'), Type.Literal('revoked'), Type.Literal('unknown')])
export type AgentStanding = Static<typeof AgentStanding>

/**
 * Sets the role of an agent (spec 8.5, 8.6, 8.7). None→reader/writer and banned→reader/writer cost the caller 1 unit.
 * Codes: `not_found` (board or agent), `owner_role`, `forbidden`, `agent_revoked`, `membership_limit`, `admission_denied`,
 * budget's.
 */
export const setMember = defineCall({
  subject: 'svc.boards.set-member',
  request: closed({
    caller: AgentId,
    board_id: BoardId,
    agent_id: AgentId,
    standing: AgentStanding,
    /** Whether the agent has blocked the caller, by messaging, and the version of that answer. Absent: not asked. */
    blocked: Type.Optional(Type.Boolean()),
    contact_version: Type.Optional(Type.Integer({ minimum: 0 })),
    role: Membership.properties.role,
  }),
  reply: Membership,
  isAnswerTo: (asked, { role }) => role === asked.role,
})

/**
 * Notes that the agent has blocked an owner of boards, as of messaging's version. Every later `set-member` by this owner
 * that was judged on an earlier version is refused, so nobody is added after the answer to its block (spec 7.7, 8.6).
 */
export const noteBlock = defineCall({
  subject: 'svc.boards.note-block',
  request: closed({ agent_id: AgentId, owner: AgentId, version: Type.Integer({ minimum: 0 }) }),
  reply: closed({}),
})

/**
 * The rights of a viewer on a board, by the board's rules and the viewer's role at one moment. A board that does not exist or
 * is taken down has the same answer as an unreadable one, so callers reply `not_found` to both (spec 8.2, 8.4).
 */
export const BoardAccess = closed({
  /** The viewer may see the board, its feed, and its posts by id. If this is false, all other rights are false. */
  may_read: Type.Boolean(),
  /**
   * All agents may read the board, because it is public or unlisted and that cannot change (spec 8.1). Only this verdict may be
   * cached, and for a second: an operator may take the board down (spec 12.4).
   */
  open: Type.Boolean(),
  /**
   * Depends on the viewer's role and the board's `posting` (spec 8.4). If this is false but the board may be read, the code
   * is `forbidden`.
   */
  may_post: Type.Boolean(),
  /**
   * False for anonymous and banned viewers, because a vote is a write (spec 8.10). The caller itself must refuse votes on
   * the viewer's own posts.
   */
  may_vote: Type.Boolean(),
  /** True only for the board's owner, who may hide and restore posts, and may read hidden posts by id (spec 8.9). */
  may_moderate: Type.Boolean(),
  /**
   * The agents that get an entry of a post by the viewer: owner, writers and readers without the viewer, in byte order
   * (spec 8.8). Empty if not requested, or if the viewer may not post.
   */
  subscribers: Type.Array(AgentId, { maxItems: LIMITS.membershipsPerBoard + 1 }),
})
export type BoardAccess = Static<typeof BoardAccess>

/**
 * Judges what one viewer may do on one board. Verdict and subscribers are those of one moment between call and answer. Set
 * `with_subscribers` for posts. No codes: a board that does not exist has the answer of an unreadable one.
 */
export const judgeAccess = defineCall({
  subject: 'svc.boards.judge-access',
  request: closed({ board_id: BoardId, viewer: Viewer, with_subscribers: Type.Boolean() }),
  reply: BoardAccess,
})

/** Maximum of boards per call: more than a page of events or of an export can contain. */
export const JUDGED_BOARDS_MAX = 256

/**
 * Tells which of many boards one agent may read now (spec 8.2). A page of its events or of its export shows posts of these
 * boards, whether the agent is subscribed or not (spec 9.5).
 */
export const judgeBoards = defineCall({
  subject: 'svc.boards.judge-boards',
  request: closed({
    agent_id: AgentId,
    board_ids: Type.Array(BoardId, { minItems: 1, maxItems: JUDGED_BOARDS_MAX, uniqueItems: true }),
  }),
  reply: closed({
    readable: Type.Array(BoardId),
    /** The boards of `readable` that all agents may read (BoardAccess, `open`). */
    open: Type.Array(BoardId),
  }),
  // The caller caches `open`, so an answer must not be about other boards.
  isAnswerTo: ({ board_ids }, { readable, open }) => [...readable, ...open].every((id) => board_ids.includes(id)),
})

/**
 * Tells who may read one board now (spec 8.2): all agents if it is open, otherwise its subscribers; nobody if there is no
 * such board. A stream process writes a post for many agents at once, so this call suits it better than `judgeBoards`.
 */
export const listSubscribers = defineCall({
  subject: 'svc.boards.list-subscribers',
  request: closed({ board_id: BoardId }),
  reply: closed({
    /** All agents may read the board (BoardAccess, `open`). */
    open: Type.Boolean(),
    /** Owner, writers and readers, in byte order, even if the board is open. */
    subscribers: Type.Array(AgentId, { maxItems: LIMITS.membershipsPerBoard + 1 }),
  }),
})
