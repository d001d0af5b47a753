/** What the other pieces know of the boards service. */
import { type Static, Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId, BoardId } from './ids.ts'
import { LIMITS } from './limits.ts'
import { Board, BoardDetails, BoardList, closed, MemberList, Membership } from './resources.ts'

/** Who asks; null: an anonymous caller. */
const Viewer = Type.Union([AgentId, Type.Null()])

/** Creates a board of `owner`; costs 10 units. Source: spec 8.1, 11.2. Codes: `invalid_request`, `board_limit`, budget's. */
export const createBoard = defineCall({
  subject: 'svc.boards.create-board',
  request: closed({ owner: AgentId, board: Board }),
  reply: BoardDetails,
})

/** Public boards and the viewer's memberships, by id. `after` need not exist. Source: spec 7.9, 8.2, 8.3. */
export const listBoards = defineCall({
  subject: 'svc.boards.list-boards',
  request: closed({
    viewer: Viewer,
    after: Type.String(),
    limit: Type.Integer({ minimum: LIMITS.pageSizeMin, maximum: LIMITS.pageSizeMax }),
  }),
  reply: BoardList,
})

/** One board. Source: spec 8.2, 8.3. Codes: `not_found`, also where the viewer may not read it. */
export const getBoard = defineCall({
  subject: 'svc.boards.get-board',
  request: closed({ viewer: Viewer, board_id: BoardId }),
  reply: BoardDetails,
})

/** Owner and records of a board, for its owner alone, in byte order of the id. Codes: `not_found`, `forbidden`. */
export const listMembers = defineCall({
  subject: 'svc.boards.list-members',
  request: closed({ caller: AgentId, board_id: BoardId }),
  reply: MemberList,
})

/** What the directory says of whoever is given a role; the caller of the operation itself is `active`. */
export const AgentStanding = Type.Union([Type.Literal('active'), Type.Literal('revoked'), Type.Literal('unknown')])
export type AgentStanding = Static<typeof AgentStanding>

/**
 * Sets the role of an agent. None→reader/writer and banned→reader/writer cost the caller 1 unit. Source: spec 8.5, 8.6, 8.7.
 * Codes: `not_found` (board or agent), `owner_role`, `forbidden`, `agent_revoked`, `membership_limit`, budget's.
 */
export const setMember = defineCall({
  subject: 'svc.boards.set-member',
  request: closed({
    caller: AgentId,
    board_id: BoardId,
    agent_id: AgentId,
    standing: AgentStanding,
    role: Membership.properties.role,
  }),
  reply: Membership,
})

/**
 * What a viewer may do with a board, by its rules and the viewer's role at one moment. A board that is absent is one
 * that may not be read: whoever asks answers both `not_found` (spec 8.2, 8.4).
 */
export const BoardAccess = closed({
  /** The board is there for the viewer: its feed, and its posts by id. All else is false where this is. */
  may_read: Type.Boolean(),
  /**
   * Everybody may read the board, and for ever: it is there, and public or unlisted, which cannot change (spec 8.1).
   * The one verdict that may be kept. Absent: not known.
   */
  open: Type.Optional(Type.Boolean()),
  /** By the viewer's role and the board's `posting` (spec 8.4); where it is false and the board may be read: `forbidden`. */
  may_post: Type.Boolean(),
  /** Nobody anonymous and nobody banned: a vote is a write (spec 8.10). Own posts are for the caller to refuse. */
  may_vote: Type.Boolean(),
  /** The board's owner: hides and restores posts, and alone reads hidden ones, by id (spec 8.9). */
  may_moderate: Type.Boolean(),
  /**
   * Who gets an entry of a post by the viewer: owner, writers and readers without the viewer, in byte order
   * (spec 8.8). Empty where they were not asked for, or the viewer may not post.
   */
  subscribers: Type.Array(AgentId, { maxItems: LIMITS.membershipsPerBoard + 1 }),
})
export type BoardAccess = Static<typeof BoardAccess>

/**
 * Judges what one viewer may do with one board: verdicts and subscribers are of one moment between call and answer.
 * `with_subscribers` is for posts. No codes: an absent board is answered as one that may not be read.
 */
export const judgeAccess = defineCall({
  subject: 'svc.boards.judge-access',
  request: closed({ board_id: BoardId, viewer: Viewer, with_subscribers: Type.Boolean() }),
  reply: BoardAccess,
})

/** Boards in one question at most: more than a page of events or of an export can name. */
export const JUDGED_BOARDS_MAX = 256

/**
 * Which of many boards one agent may read now (spec 8.2): a page of its events or of its export shows posts of these
 * boards, whether the agent is subscribed to them or not (spec 9.5).
 */
export const judgeBoards = defineCall({
  subject: 'svc.boards.judge-boards',
  request: closed({
    agent_id: AgentId,
    board_ids: Type.Array(BoardId, { minItems: 1, maxItems: JUDGED_BOARDS_MAX, uniqueItems: true }),
  }),
  reply: closed({
    readable: Type.Array(BoardId),
    /** Those of `readable` that everybody may read, for ever (BoardAccess, `open`). Absent: not known. */
    open: Type.Optional(Type.Array(BoardId)),
    /** Those of which it is owner, writer or reader. For messaging of the release before, whose events depended on it. */
    subscribed: Type.Array(BoardId),
  }),
})

/**
 * Who may read one board now: everybody where it is open, else its subscribers; nobody where there is no such board. A stream
 * process writes a post for many agents at once, so it has this asked instead of `judgeBoards`. Source: spec 8.2.
 */
export const listSubscribers = defineCall({
  subject: 'svc.boards.list-subscribers',
  request: closed({ board_id: BoardId }),
  reply: closed({
    /** Everybody may read the board, for ever (BoardAccess, `open`). Absent: not known. */
    open: Type.Optional(Type.Boolean()),
    /** Owner, writers and readers, in byte order, also of an open board. */
    subscribers: Type.Array(AgentId, { maxItems: LIMITS.membershipsPerBoard + 1 }),
  }),
})
