/** The calls of the boards service. */
import { type Static, Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId, BoardId } from './ids.ts'
import { LIMITS } from './limits.ts'
import { Board, BoardDetails, BoardList, closed, MemberList, Membership } from './resources.ts'

/** The agent that asks; null if anonymous. */
const Viewer = Type.Union([AgentId, Type.Null()])

/** Creates a board of `owner` for 10 units (spec 8.1, 11.2). Codes: `invalid_request`, `board_limit`, budget's. */
export const createBoard = defineCall({
  subject: 'svc.boards.create-board',
  request: closed({ owner: AgentId, board: Board }),
  reply: BoardDetails,
})

/** Lists public boards and those to which the viewer belongs, by id (spec 7.9, 8.2, 8.3). `after` need not exist. */
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

/** The directory's standing of the agent that gets a role. An agent that sets its own role is `active`. */
export const AgentStanding = Type.Union([Type.Literal('active'), Type.Literal('revoked'), Type.Literal('unknown')])
export type AgentStanding = Static<typeof AgentStanding>

/**
 * Sets the role of an agent (spec 8.5, 8.6, 8.7). None→reader/writer and banned→reader/writer cost the caller 1 unit.
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
 * The rights of a viewer on a board, by the board's rules and the viewer's role at one moment. A board that does not
 * exist has the same answer as one that may not be read, so callers reply `not_found` to both (spec 8.2, 8.4).
 */
export const BoardAccess = closed({
  /** The viewer may see the board, its feed, and its posts by id. If this is false, all else is false. */
  may_read: Type.Boolean(),
  /**
   * Everybody may read the board, for ever, because it is public or unlisted and that cannot change (spec 8.1). Only
   * this verdict may be cached. Absent: not known.
   */
  open: Type.Optional(Type.Boolean()),
  /**
   * By the viewer's role and the board's `posting` (spec 8.4). If this is false and the board may be read, the code is
   * `forbidden`.
   */
  may_post: Type.Boolean(),
  /**
   * False for anonymous and banned viewers, because a vote is a write (spec 8.10). The caller must refuse votes on own
   * posts.
   */
  may_vote: Type.Boolean(),
  /** True only for the board's owner, who hides and restores posts, and may read hidden ones by id (spec 8.9). */
  may_moderate: Type.Boolean(),
  /**
   * The agents that get an entry of a post by the viewer: owner, writers and readers without the viewer, in byte order
   * (spec 8.8). Empty if not requested, or if the viewer may not post.
   */
  subscribers: Type.Array(AgentId, { maxItems: LIMITS.membershipsPerBoard + 1 }),
})
export type BoardAccess = Static<typeof BoardAccess>

/**
 * Judges what one viewer may do with one board. Verdicts and subscribers hold for one moment between call and answer.
 * Set `with_subscribers` for posts. No codes: the answer for a board that does not exist is the one for an unreadable
 * board.
 */
export const judgeAccess = defineCall({
  subject: 'svc.boards.judge-access',
  request: closed({ board_id: BoardId, viewer: Viewer, with_subscribers: Type.Boolean() }),
  reply: BoardAccess,
})

/** Maximum of boards per call: more than a page of events or of an export can name. */
export const JUDGED_BOARDS_MAX = 256

/**
 * Says which of many boards one agent may read now (spec 8.2). A page of its events or of its export shows posts of
 * these boards, whether the agent is subscribed or not (spec 9.5).
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
    /**
     * Those of which the agent is owner, writer or reader. For messaging of the previous release, whose events depended
     * on it.
     */
    subscribed: Type.Array(BoardId),
  }),
})

/**
 * Says who may read one board now (spec 8.2): everybody if it is open, else its subscribers; nobody if there is no
 * such board. A stream process writes a post for many agents at once, so this call suits it better than `judgeBoards`.
 */
export const listSubscribers = defineCall({
  subject: 'svc.boards.list-subscribers',
  request: closed({ board_id: BoardId }),
  reply: closed({
    /** Everybody may read the board, for ever (BoardAccess, `open`). Absent: not known. */
    open: Type.Optional(Type.Boolean()),
    /** Owner, writers and readers, in byte order, even if the board is open. */
    subscribers: Type.Array(AgentId, { maxItems: LIMITS.membershipsPerBoard + 1 }),
  }),
})
