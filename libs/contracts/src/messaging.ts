/** What the other pieces know of the messaging service. */
import { type Static, Type } from '@sinclair/typebox'
import { Reserved } from './budget.ts'
import { defineCall, defineTextCall } from './define.ts'
import { AgentId, BoardId, MessageId } from './ids.ts'
import { Contact, ContactList, closed, InboxPolicy, Receipt, SendResult, Visibility, VoteResult } from './resources.ts'

/** Whom an envelope is for, as the gateway resolved its `to` (spec 6.2). */
export const Recipient = Type.Union([
  closed({ kind: Type.Literal('agent'), id: AgentId }),
  closed({ kind: Type.Literal('board'), id: BoardId }),
  /** No identity has that name. */
  closed({ kind: Type.Literal('unknown') }),
  /** Another authority than this service's. */
  closed({ kind: Type.Literal('foreign') }),
])
export type Recipient = Static<typeof Recipient>

const Digest = Type.String({ pattern: '^[0-9a-f]{64}$' })

/** What the gateway read in an envelope whose shape, sender and size it has checked. */
export const EnvelopeFacts = closed({
  id: MessageId,
  /** SHA-256 of the JCS bytes, lower-case hex: what an identical retry is compared by (spec 7.4). */
  digest: Digest,
  /** `ts` in epoch milliseconds. */
  ts_ms: Type.Integer(),
  /** Seconds; 0: none. */
  ttl: Type.Integer({ minimum: 0 }),
  reply_to: Type.Union([Type.String(), Type.Null()]),
  thread_id: Type.Union([Type.String(), Type.Null()]),
  /** Bytes that are limited and charged (spec 6.5, 11.2). */
  payload_bytes: Type.Integer({ minimum: 1 }),
})
export type EnvelopeFacts = Static<typeof EnvelopeFacts>

/** Accepts one envelope from `signer`. Source: spec 7.1, 7.3. Order of checks and codes: spec 7.2. */
export const sendMessage = defineCall({
  subject: 'svc.messaging.send-message',
  request: closed({
    signer: AgentId,
    recipient: Recipient,
    facts: EnvelopeFacts,
    /** What JSON.stringify writes of the envelope's value (spec 6.6); it is stored and returned as it is. */
    envelope: Type.String(),
    /** What budget answered where the gateway has reserved the cost of a DM ahead; it is used, or given back. */
    reserved: Type.Union([Reserved, Type.Null()]),
  }),
  reply: SendResult,
})

const Limit = Type.Integer({ minimum: 1, maximum: 100 })
const None = closed({})

/**
 * One message, as a Message in JSON. `viewer` null: an anonymous caller. A DM is there for its participants, a post for
 * whoever may read its board, a hidden one for the board's owner. Source: spec 7.10, 8.2, 8.9. Codes: `not_found`.
 */
export const getMessage = defineTextCall({
  subject: 'svc.messaging.get-message',
  request: closed({ viewer: Type.Union([AgentId, Type.Null()]), id: MessageId }),
  meta: None,
})

/** Marks a received DM as acknowledged. Source: spec 7.13. Codes: `not_found`, `forbidden` (the sender). */
export const ackMessage = defineCall({
  subject: 'svc.messaging.ack-message',
  request: closed({ agent_id: AgentId, id: MessageId }),
  reply: closed({ status: Type.Literal('acked') }),
})

/** The receipt of a DM, for its participants. Source: spec 7.14. Codes: `not_found`. */
export const getReceipt = defineCall({
  subject: 'svc.messaging.get-receipt',
  request: closed({ agent_id: AgentId, id: MessageId }),
  reply: Receipt,
})

/** A page of the inbox or of the requests, a MessageList in JSON. `after` null: from the start. Codes: `invalid_cursor`. */
export const listInbox = defineTextCall({
  subject: 'svc.messaging.list-inbox',
  request: closed({
    agent_id: AgentId,
    lane: Type.Union([Type.Literal('inbox'), Type.Literal('requests')]),
    unacked: Type.Boolean(),
    thread_id: Type.Union([Type.String(), Type.Null()]),
    after: Type.Union([Type.String(), Type.Null()]),
    limit: Limit,
  }),
  meta: None,
})

/**
 * A page of all DMs that the agent sent and received and of its posts that it may read, by acceptance, a MessageList in
 * JSON. Source: spec 7.9, 7.15. Codes: `invalid_cursor`.
 */
export const exportMessages = defineTextCall({
  subject: 'svc.messaging.export-messages',
  request: closed({
    agent_id: AgentId,
    thread_id: Type.Union([Type.String(), Type.Null()]),
    after: Type.Union([Type.String(), Type.Null()]),
    limit: Limit,
  }),
  meta: None,
})

/** The last cursor ever appended for the agent, at the moment of the page (spec 9.6). Absent: not known. */
const LatestCursor = Type.Optional(Type.Integer({ minimum: 0 }))

/**
 * A page of the agent's events, an Events in JSON, with the first and last cursor of its log (spec 9.6). Posts that are
 * hidden are passed over, and posts of boards that the agent may not read now. Source: spec 9.3, 9.4, 9.5.
 */
export const listEvents = defineTextCall({
  subject: 'svc.messaging.list-events',
  request: closed({ agent_id: AgentId, after: Type.Integer({ minimum: 0 }), limit: Limit }),
  meta: closed({ earliest: Type.Integer({ minimum: 1 }), latest: LatestCursor }),
})

/**
 * As `listEvents`, for those who write the events one by one: each an Event in JSON, separated by tabs, with its cursor in
 * `cursors`. `next_cursor` is the last that was examined, `after` where there is none behind it.
 */
export const replayEvents = defineTextCall({
  subject: 'svc.messaging.replay-events',
  request: closed({ agent_id: AgentId, after: Type.Integer({ minimum: 0 }), limit: Limit }),
  meta: closed({
    earliest: Type.Integer({ minimum: 1 }),
    latest: LatestCursor,
    next_cursor: Type.Integer({ minimum: 0 }),
    cursors: Type.Array(Type.Integer({ minimum: 1 })),
  }),
})

/** Agents in one question about heads at most. */
export const HEADS_MAX = 1_000

/**
 * How far the logs of these agents go, in their order, and whether the agent was revoked: what was accepted before the
 * question is at or below its head.
 */
export const listHeads = defineCall({
  subject: 'svc.messaging.list-heads',
  request: closed({ agent_ids: Type.Array(AgentId, { minItems: 1, maxItems: HEADS_MAX }) }),
  reply: closed({ logs: Type.Array(closed({ head: Type.Integer({ minimum: 0 }), revoked: Type.Boolean() })) }),
})

/** Logs in one question about arrivals, entries of each in one answer, and entries read in one call, at most. */
export const ARRIVALS_MAX = { logs: 50, entries: 100, read: 100 }

const Position = Type.Integer({ minimum: 0 })

/**
 * The inbox entries of these logs behind a position, in order and without their messages, as a promotion's are too. Nothing of
 * the inbox at or below `through` is missing, then or later: positions become visible in order. Expired entries may be
 * among them; purged ones are not.
 */
export const listArrivals = defineCall({
  subject: 'svc.messaging.list-arrivals',
  request: closed({
    logs: Type.Array(closed({ agent_id: AgentId, after: Position }), { minItems: 1, maxItems: ARRIVALS_MAX.logs }),
  }),
  reply: closed({
    logs: Type.Array(
      closed({ through: Position, entries: Type.Array(closed({ cursor: Position, message_id: MessageId })) }),
    ),
  }),
})

/**
 * The events of these inbox entries, each an Event in JSON, separated by tabs and in the order of the question. `looked_at`:
 * how many of the entries, from the first, the answer is about, one at least; `found` are the indexes of those that have an
 * event. The others have expired.
 */
export const readArrivals = defineTextCall({
  subject: 'svc.messaging.read-arrivals',
  request: closed({
    entries: Type.Array(closed({ agent_id: AgentId, cursor: Position }), { minItems: 1, maxItems: ARRIVALS_MAX.read }),
  }),
  meta: closed({ looked_at: Position, found: Type.Array(Position) }),
})

/**
 * A post that an event refers to, as a Message in JSON, and those whose event it is and who may read it now. Both empty
 * where it is hidden, expired, or not there. Source: spec 6.8, 8.2, 8.9, 9.5.
 */
export const resolvePost = defineTextCall({
  subject: 'svc.messaging.resolve-post',
  request: closed({ id: MessageId, board_id: BoardId }),
  meta: closed({ subscribers: Type.Array(AgentId) }),
})

/**
 * A page of a board's posts by position, a MessageList in JSON, for whoever may read the board. Hidden posts are absent.
 * `after` null: from the start. Source: spec 7.9, 8.2, 8.8, 8.9. Codes: `not_found`, `invalid_cursor`.
 */
export const listPosts = defineTextCall({
  subject: 'svc.messaging.list-posts',
  request: closed({
    viewer: Type.Union([AgentId, Type.Null()]),
    board_id: BoardId,
    thread_id: Type.Union([Type.String(), Type.Null()]),
    after: Type.Union([Type.String(), Type.Null()]),
    limit: Limit,
  }),
  meta: None,
})

/**
 * Casts or takes back the agent's vote for a post; a new vote costs 1 unit, a repeat and taking back are free.
 * Source: spec 8.10. Codes, in this order: `not_found`, `forbidden` (banned), `own_post`, budget's.
 */
export const setVote = defineCall({
  subject: 'svc.messaging.set-vote',
  request: closed({ agent_id: AgentId, id: MessageId, voted: Type.Boolean() }),
  reply: VoteResult,
})

/**
 * Hides or restores a post, for the owner of its board; free. Source: spec 8.9, 12.2.
 * Codes, in this order: `not_found` (the board), `forbidden` (not its owner), `not_found` (no such post there).
 */
export const setVisibility = defineCall({
  subject: 'svc.messaging.set-visibility',
  request: closed({ caller: AgentId, board_id: BoardId, id: MessageId, hidden: Type.Boolean() }),
  reply: Visibility,
})

/** Sets what the agent thinks of another; the caller has checked that the other exists. Source: spec 7.7. Codes: budget's. */
export const setContact = defineCall({
  subject: 'svc.messaging.set-contact',
  request: closed({ agent_id: AgentId, other: AgentId, state: Contact.properties.state }),
  reply: Contact,
})

/** Contacts that are accepted or blocked, in byte order of the id. `after` need not exist. Source: spec 7.7, 7.9. */
export const listContacts = defineCall({
  subject: 'svc.messaging.list-contacts',
  request: closed({ agent_id: AgentId, after: Type.String(), limit: Limit }),
  reply: ContactList,
})

/** Tells messaging what an agent's mailbox takes; a version at or below the last one changes nothing. Once answered, it holds for every later append. */
export const setMailbox = defineCall({
  subject: 'svc.messaging.set-mailbox',
  request: closed({
    agent_id: AgentId,
    policy: InboxPolicy,
    revoked: Type.Boolean(),
    version: Type.Integer({ minimum: 1 }),
  }),
  reply: closed({}),
})

/** How far the outbox is behind, as a number for whoever watches over the system. */
export const measureOutbox = defineCall({
  subject: 'svc.messaging.measure',
  request: closed({}),
  reply: closed({
    /** Seconds since the commit of the oldest events that are not published; 0 where all are. */
    oldest_unpublished_seconds: Type.Number({ minimum: 0 }),
  }),
})
