/** What the other pieces know of the messaging service. */
import { type Static, Type } from '@sinclair/typebox'
import { defineCall, defineTextCall } from './define.ts'
import { AgentId, BoardId, MessageId } from './ids.ts'
import { Contact, ContactList, closed, InboxPolicy, Receipt, SendResult } from './resources.ts'

/** Whom an envelope is for, as the gateway resolved its `to` (decisions 19). */
export const Recipient = Type.Union([
  closed({ kind: Type.Literal('agent'), id: AgentId }),
  closed({ kind: Type.Literal('board'), id: BoardId }),
  /** No identity has that name. */
  closed({ kind: Type.Literal('unknown') }),
  /** Another authority than this service's. */
  closed({ kind: Type.Literal('foreign') }),
])
export type Recipient = Static<typeof Recipient>

/** What the gateway read in an envelope whose shape, sender and size it has checked. */
export const EnvelopeFacts = closed({
  id: MessageId,
  /** SHA-256 of the JCS bytes, lower-case hex: what an identical retry is compared by (decisions 18). */
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** `ts` in epoch milliseconds. */
  ts_ms: Type.Integer(),
  /** Seconds; 0: none. */
  ttl: Type.Integer({ minimum: 0 }),
  reply_to: Type.Union([Type.String(), Type.Null()]),
  thread_id: Type.Union([Type.String(), Type.Null()]),
  /** Bytes that are limited and charged (decisions 17). */
  payload_bytes: Type.Integer({ minimum: 1 }),
})
export type EnvelopeFacts = Static<typeof EnvelopeFacts>

/** Accepts one envelope from `signer`. Source: service.md, Endpoint rules 5-7. Order of checks and codes: decisions 18-25. */
export const sendMessage = defineCall({
  subject: 'svc.messaging.send-message',
  request: closed({
    signer: AgentId,
    recipient: Recipient,
    facts: EnvelopeFacts,
    /** The envelope's JSON as it was sent, without insignificant white space. */
    envelope: Type.String(),
  }),
  reply: SendResult,
})

const Limit = Type.Integer({ minimum: 1, maximum: 100 })
const None = closed({})

/** One message, as a Message in JSON. `viewer` null: an anonymous caller. Source: Endpoint rules 3. Codes: `not_found`. */
export const getMessage = defineTextCall({
  subject: 'svc.messaging.get-message',
  request: closed({ viewer: Type.Union([AgentId, Type.Null()]), id: MessageId }),
  meta: None,
})

/** Marks a received DM as acknowledged. Source: decisions 36. Codes: `not_found`, `forbidden` (the sender). */
export const ackMessage = defineCall({
  subject: 'svc.messaging.ack-message',
  request: closed({ agent_id: AgentId, id: MessageId }),
  reply: closed({ status: Type.Literal('acked') }),
})

/** The receipt of a DM, for its participants. Source: decisions 36. Codes: `not_found`. */
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

/** A page of all that the agent sent and received, by acceptance, a MessageList in JSON. Codes: `invalid_cursor`. */
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

/** A page of the agent's events, an Events in JSON; `earliest` is decisions 51's cursor. Source: decisions 37, 38. */
export const listEvents = defineTextCall({
  subject: 'svc.messaging.list-events',
  request: closed({ agent_id: AgentId, after: Type.Integer({ minimum: 0 }), limit: Limit }),
  meta: closed({ earliest: Type.Integer({ minimum: 1 }) }),
})

/** Sets what the agent thinks of another; the caller has checked that the other exists. Source: decisions 25, 26. Codes: budget's. */
export const setContact = defineCall({
  subject: 'svc.messaging.set-contact',
  request: closed({ agent_id: AgentId, other: AgentId, state: Contact.properties.state }),
  reply: Contact,
})

/** Contacts that are accepted or blocked, in byte order of the id. `after` need not exist. Source: decisions 26, 35. */
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
