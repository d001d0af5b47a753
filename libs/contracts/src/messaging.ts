/** The calls of the messaging service. */
import { type Static, Type } from '@sinclair/typebox'
import { Reserved } from './budget.ts'
import { defineCall, defineTextCall } from './define.ts'
import { AgentId, BoardId, MessageId } from './ids.ts'
import { Contact, ContactList, closed, InboxPolicy, Receipt, SendResult, Visibility, VoteResult } from './resources.ts'
import { SuspensionChange } from './suspension.ts'

/** The recipient of an envelope, as the gateway has resolved its `to` (spec 6.2). */
export const Recipient = Type.Union([
  closed({ kind: Type.Literal('agent'), id: AgentId }),
  closed({ kind: Type.Literal('board'), id: BoardId }),
  /** No agent has this name. */
  closed({ kind: Type.Literal('unknown') }),
  /** The address belongs to another authority. */
  closed({ kind: Type.Literal('foreign') }),
])
export type Recipient = Static<typeof Recipient>

const Digest = Type.String({ pattern: '^[0-9a-f]{64}$' })

/** Facts that the gateway has read from an envelope, after it checked its shape, sender and size. */
export const EnvelopeFacts = closed({
  id: MessageId,
  /** SHA-256 of the JCS bytes, lower-case hex. Shows whether a retry is identical (spec 7.4). */
  digest: Digest,
  /** `ts` in epoch milliseconds. */
  ts_ms: Type.Integer(),
  /** Seconds; 0 if absent. */
  ttl: Type.Integer({ minimum: 0 }),
  reply_to: Type.Union([Type.String(), Type.Null()]),
  thread_id: Type.Union([Type.String(), Type.Null()]),
  /** Bytes that count for limits and charges (spec 6.5, 11.2). */
  payload_bytes: Type.Integer({ minimum: 1 }),
})
export type EnvelopeFacts = Static<typeof EnvelopeFacts>

/** Accepts one envelope from `signer` (spec 7.1, 7.3). Order of checks and codes: spec 7.2. */
export const sendMessage = defineCall({
  subject: 'svc.messaging.send-message',
  request: closed({
    signer: AgentId,
    recipient: Recipient,
    facts: EnvelopeFacts,
    /** The output of JSON.stringify for the envelope (spec 6.6). It is stored and returned unchanged. */
    envelope: Type.String(),
    /** Budget's answer, if the gateway has reserved the cost of a DM ahead. Messaging uses the reservation or releases it. */
    reserved: Type.Union([Reserved, Type.Null()]),
  }),
  reply: SendResult,
  isAnswerTo: ({ facts }, { msg_id }) => msg_id === facts.id,
})

const Limit = Type.Integer({ minimum: 1, maximum: 100 })
const None = closed({})

/**
 * Returns one message, as a Message in JSON (spec 7.10, 8.2, 8.9). `viewer` is null if anonymous. A DM is visible to its
 * participants, a post to the readers of its board, and a hidden post to the board's owner. Codes: `not_found`.
 */
export const getMessage = defineTextCall({
  subject: 'svc.messaging.get-message',
  request: closed({ viewer: Type.Union([AgentId, Type.Null()]), id: MessageId }),
  meta: None,
})

/** Marks a received DM as acknowledged (spec 7.13). Codes: `not_found`, `forbidden` (for the sender). */
export const ackMessage = defineCall({
  subject: 'svc.messaging.ack-message',
  request: closed({ agent_id: AgentId, id: MessageId }),
  reply: closed({ status: Type.Literal('acked') }),
})

/** Returns the receipt of a DM to its participants (spec 7.14). Codes: `not_found`. */
export const getReceipt = defineCall({
  subject: 'svc.messaging.get-receipt',
  request: closed({ agent_id: AgentId, id: MessageId }),
  reply: Receipt,
  isAnswerTo: ({ id }, { msg_id }) => msg_id === id,
})

/**
 * Returns a page of the inbox or of the requests, as a MessageList in JSON. `after` null: from the start. Codes:
 * `invalid_cursor`.
 */
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
 * Returns a page of all DMs that the agent sent or received and of its posts that it may read, by acceptance, as a
 * MessageList in JSON (spec 7.9, 7.15). Codes: `invalid_cursor`.
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

/** The last cursor that was ever appended for the agent, at the time of the page (spec 9.6). */
const LatestCursor = Type.Integer({ minimum: 0 })

/**
 * Returns a page of the agent's events, as an Events in JSON, with the first and last cursor of its log (spec 9.3, 9.4,
 * 9.5, 9.6). Skips hidden posts, and posts of boards that the agent may not read now.
 */
export const listEvents = defineTextCall({
  subject: 'svc.messaging.list-events',
  request: closed({ agent_id: AgentId, after: Type.Integer({ minimum: 0 }), limit: Limit }),
  meta: closed({ earliest: Type.Integer({ minimum: 1 }), latest: LatestCursor }),
})

/**
 * Like `listEvents`, for callers that write events one at a time. Each event is an Event in JSON; tabs separate them.
 * `cursors` has their cursors. `next_cursor` is the last cursor that was examined, or `after` if none came after it.
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
  isAnswerTo: ({ after }, { cursors, next_cursor }) =>
    areRising([after, ...cursors]) && next_cursor >= (cursors.at(-1) ?? after),
})

/** Whether each number is greater than the one before it. */
function areRising(numbers: readonly number[]): boolean {
  return numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0))
}

/** Maximum number of agents per call about heads. */
export const HEADS_MAX = 1_000

/**
 * Returns the heads of these agents' logs, in the order of the request, and whether each agent is revoked or suspended, so that its
 * streams must close (`revoked`). Everything that was accepted before the call is at or below its head.
 */
export const listHeads = defineCall({
  subject: 'svc.messaging.list-heads',
  request: closed({ agent_ids: Type.Array(AgentId, { minItems: 1, maxItems: HEADS_MAX }) }),
  reply: closed({ logs: Type.Array(closed({ head: Type.Integer({ minimum: 0 }), revoked: Type.Boolean() })) }),
  isAnswerTo: ({ agent_ids }, { logs }) => logs.length === agent_ids.length,
})

/** Maximum number of logs per call of `listMoved`. */
export const MOVED_MAX = 5_000

/**
 * Compares the heads of these logs with those that the caller expects (`heads`, in the order of `agent_ids`), and returns the logs
 * whose head is another one. Everything that was accepted before the call is at or below its head.
 */
export const listMoved = defineCall({
  subject: 'svc.messaging.list-moved',
  request: closed({
    agent_ids: Type.Array(AgentId, { minItems: 1, maxItems: MOVED_MAX }),
    heads: Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1, maxItems: MOVED_MAX }),
  }),
  /** `index`: the place of the agent in the request. */
  reply: closed({
    moved: Type.Array(closed({ index: Type.Integer({ minimum: 0 }), head: Type.Integer({ minimum: 0 }) })),
  }),
  isAnswerTo: ({ agent_ids, heads }, { moved }) =>
    areRising([-1, ...moved.map(({ index }) => index)]) &&
    moved.every(({ index, head }) => index < agent_ids.length && head !== heads[index]),
})

/** Maximum number of revoked and suspended agents in an answer. */
export const REVOKED_MAX = 1_000

/**
 * Lists agents that were revoked or suspended since a given time. So a stream process need not often ask for the heads of all its streams.
 * If the list would be too long, `is_complete` is false and it is empty; the caller then asks for the heads. `next_since_ms` is
 * the time for the next call.
 */
export const listRevoked = defineCall({
  subject: 'svc.messaging.list-revoked',
  request: closed({
    /** Unix milliseconds by the database's clock. With null, no agents are listed. */
    since_ms: Type.Union([Type.Integer(), Type.Null()]),
  }),
  reply: closed({ revoked: Type.Array(AgentId), is_complete: Type.Boolean(), next_since_ms: Type.Integer() }),
})

/** Maxima: logs per call about arrivals, entries per log in an answer, entries per read. */
export const ARRIVALS_MAX = { logs: 50, entries: 100, read: 100 }

const Position = Type.Integer({ minimum: 0 })

/**
 * Lists the inbox entries of these logs after a position, in order and without their messages. Promotions count as inbox
 * entries. Positions become visible in order, so every inbox entry at or below `through` is included, and none can appear
 * later. Expired entries may be included; purged ones are not.
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
  isAnswerTo: (asked, { logs }) =>
    logs.length === asked.logs.length &&
    logs.every(({ entries, through }, at) => {
      const after = asked.logs[at]?.after ?? 0
      return through >= after && areRising([after, ...entries.map(({ cursor }) => cursor)])
    }),
})

/**
 * Reads the events of these inbox entries. Each event is an Event in JSON; tabs separate them, in the order of the request.
 * `looked_at`: how many of the entries the answer covers, counted from the first, at least one. `found`: the indexes of the
 * entries that have an event. The others have expired or are taken down.
 */
export const readArrivals = defineTextCall({
  subject: 'svc.messaging.read-arrivals',
  request: closed({
    entries: Type.Array(closed({ agent_id: AgentId, cursor: Position }), { minItems: 1, maxItems: ARRIVALS_MAX.read }),
  }),
  meta: closed({ looked_at: Position, found: Type.Array(Position) }),
  isAnswerTo: ({ entries }, { looked_at, found }) =>
    looked_at >= 1 && looked_at <= entries.length && areRising([-1, ...found, looked_at]),
})

/**
 * Returns the post that an event refers to, as a Message in JSON, and the agents that have this event and may read it now
 * (spec 6.8, 8.2, 8.9, 9.5). Both are empty if the post is hidden, taken down, expired or does not exist.
 */
export const resolvePost = defineTextCall({
  subject: 'svc.messaging.resolve-post',
  request: closed({ id: MessageId, board_id: BoardId }),
  meta: closed({ subscribers: Type.Array(AgentId) }),
})

/**
 * Returns a page of a board's posts by position, as a MessageList in JSON, to a viewer that may read the board (spec 7.9,
 * 8.2, 8.8, 8.9). Hidden posts are left out. `after` null: from the start. Codes: `not_found`, `invalid_cursor`.
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
 * Casts or takes back the agent's vote for a post (spec 8.10). A new vote costs 1 unit. A repeat is free, and so is taking
 * a vote back. Codes, in this order: `not_found`, `forbidden` (banned), `own_post`, budget's.
 */
export const setVote = defineCall({
  subject: 'svc.messaging.set-vote',
  request: closed({ agent_id: AgentId, id: MessageId, voted: Type.Boolean() }),
  reply: VoteResult,
  isAnswerTo: ({ voted }, { status }) => (status === 'voted') === voted,
})

/**
 * Hides or restores a post, for the owner of its board; free (spec 8.9, 12.2). Codes, in this order: `not_found` (the
 * board), `forbidden` (the caller is not its owner), `not_found` (the board has no such post).
 */
export const setVisibility = defineCall({
  subject: 'svc.messaging.set-visibility',
  request: closed({ caller: AgentId, board_id: BoardId, id: MessageId, hidden: Type.Boolean() }),
  reply: Visibility,
  isAnswerTo: (asked, { hidden }) => hidden === asked.hidden,
})

/** Rises with each change of the agent's contacts. `note-block` of boards compares it. */
const ContactVersion = Type.Integer({ minimum: 0 })

/** Sets an agent's contact state for another agent (spec 7.7). The caller has checked that the other agent exists. Codes: budget's. */
export const setContact = defineCall({
  subject: 'svc.messaging.set-contact',
  request: closed({ agent_id: AgentId, other: AgentId, state: Contact.properties.state }),
  /** `version`: only after a block. */
  reply: closed({ ...Contact.properties, version: Type.Optional(ContactVersion) }),
  isAnswerTo: (asked, { state }) => state === asked.state,
})

/** Lists accepted and blocked contacts, in byte order of the id (spec 7.7, 7.9). `after` need not exist. */
export const listContacts = defineCall({
  subject: 'svc.messaging.list-contacts',
  request: closed({ agent_id: AgentId, after: Type.String(), limit: Limit }),
  reply: closed({ ...ContactList.properties, version: ContactVersion }),
})

/**
 * Sends messaging the policy and the revocation of an agent's mailbox. A version at or below the last one is a no-op. After
 * the answer, the change applies to every later append.
 */
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

/** Sends messaging the suspension of an agent. Its streams then close (`listRevoked`, `listHeads`); messages to it are still accepted. */
export const setSuspension = defineCall({
  subject: 'svc.messaging.set-suspension',
  request: SuspensionChange,
  reply: closed({}),
})
