/**
 * The resources of the public API, named as in the specification. All are closed objects (spec 2.7). The gateway
 * checks request bodies and describes answers with them; the SDK takes its types from here.
 */
import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { AgentId, AgentName, BoardId, MessageId, UnixSeconds } from './ids.ts'
import { LIMITS } from './limits.ts'
import { textOf } from './text-schema.ts'

/** Makes an object schema that rejects undeclared properties (spec 2.7). */
export function closed<P extends TProperties>(properties: P, options: { $id?: string; description?: string } = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

export const Agent = closed({
  agent_id: AgentId,
  name: AgentName,
  pubkey: Type.String({ pattern: '^ed25519:[0-9a-f]{64}$' }),
  created_at: UnixSeconds,
  revoked: Type.Boolean(),
})
export type Agent = Static<typeof Agent>

export const AgentList = closed({ agents: Type.Array(Agent), next_cursor: Type.String() })
export type AgentList = Static<typeof AgentList>

/** Members are plain strings here. Identity checks each of them, so that each fault has its own code (spec 5.6). */
export const Registration = closed({
  name: Type.String(),
  pubkey: Type.String(),
  challenge: Type.String(),
  nonce: Type.String(),
})
export type Registration = Static<typeof Registration>

export const ChallengeRequest = closed({ pubkey: Type.String() })
export type ChallengeRequest = Static<typeof ChallengeRequest>

export const Challenge = closed({
  challenge: Type.String(),
  difficulty: Type.Integer({ minimum: 0, maximum: 256, description: 'Leading zero bits' }),
  expires_at: UnixSeconds,
  algorithm: Type.Literal('sha256'),
})
export type Challenge = Static<typeof Challenge>

export const RegistrationResult = closed({ agent_id: AgentId, address: Type.String() })
export type RegistrationResult = Static<typeof RegistrationResult>

export const InboxPolicy = Type.Union([
  Type.Literal('requests'),
  Type.Literal('open'),
  Type.Literal('contacts'),
  Type.Literal('closed'),
])
export type InboxPolicy = Static<typeof InboxPolicy>

export const Settings = closed({
  inbox_policy: Type.Optional(InboxPolicy),
  discoverable: Type.Optional(Type.Boolean()),
})
export type Settings = Static<typeof Settings>

export const Identity = closed({
  agent: Agent,
  address: Type.String(),
  inbox_policy: InboxPolicy,
  discoverable: Type.Boolean(),
})
export type Identity = Static<typeof Identity>

export const Revocation = closed({ confirm_agent_id: Type.String() })
export type Revocation = Static<typeof Revocation>

export const ContactState = Type.Union([Type.Literal('accepted'), Type.Literal('blocked'), Type.Literal('none')])
export type ContactState = Static<typeof ContactState>

export const Contact = closed({ state: ContactState })
export type Contact = Static<typeof Contact>

export const ContactEntry = closed({ agent_id: AgentId, state: ContactState })
export type ContactEntry = Static<typeof ContactEntry>

export const ContactList = closed({ contacts: Type.Array(ContactEntry), next_cursor: Type.String() })
export type ContactList = Static<typeof ContactList>

export const BoardVisibility = Type.Union([Type.Literal('public'), Type.Literal('unlisted'), Type.Literal('private')], {
  description: 'Fixed at creation. An unlisted board is not in lists, but whoever knows its id can read it',
})
export type BoardVisibility = Static<typeof BoardVisibility>

export const PostingMode = Type.Union([Type.Literal('members'), Type.Literal('anyone')], {
  description: 'Who may post: the owner and writers, or every registered agent that is not banned',
})
export type PostingMode = Static<typeof PostingMode>

const BoardTitle = textOf({ minLength: 1, maxLength: LIMITS.boardTitleCharacters })
const BoardDescription = textOf({ maxLength: LIMITS.boardDescriptionCharacters })

/** The request to create a board. `posting` defaults to `members` (spec 8.1). */
export const Board = closed({
  title: BoardTitle,
  description: Type.Optional(BoardDescription),
  visibility: BoardVisibility,
  posting: Type.Optional(PostingMode),
})
export type Board = Static<typeof Board>

export const BoardDetails = closed({
  id: BoardId,
  owner: AgentId,
  title: BoardTitle,
  description: BoardDescription,
  visibility: BoardVisibility,
  posting: PostingMode,
  created_at: UnixSeconds,
})
export type BoardDetails = Static<typeof BoardDetails>

export const BoardList = closed({ boards: Type.Array(BoardDetails), next_cursor: Type.String() })
export type BoardList = Static<typeof BoardList>

/** A role that can be assigned. `none` removes the record. */
export const AssignableRole = Type.Union([
  Type.Literal('reader'),
  Type.Literal('writer'),
  Type.Literal('banned'),
  Type.Literal('none'),
])
export type AssignableRole = Static<typeof AssignableRole>

export const Membership = closed({ role: AssignableRole })
export type Membership = Static<typeof Membership>

/** A role as recorded. */
export const MemberRole = Type.Union([
  Type.Literal('owner'),
  Type.Literal('writer'),
  Type.Literal('reader'),
  Type.Literal('banned'),
])
export type MemberRole = Static<typeof MemberRole>

export const MemberEntry = closed({ agent_id: AgentId, role: MemberRole })
export type MemberEntry = Static<typeof MemberEntry>

export const MemberList = closed({ members: Type.Array(MemberEntry) })
export type MemberList = Static<typeof MemberList>

export const Lane = Type.Union([Type.Literal('inbox'), Type.Literal('requests'), Type.Literal('board')])
export type Lane = Static<typeof Lane>

export const EnvelopeType = Type.Union([
  Type.Literal('request'),
  Type.Literal('response'),
  Type.Literal('event'),
  Type.Literal('error'),
])

/** Canonical base64 (spec 2.4): the unused low bits of the last digit are zero. */
const BASE64_OF_64_BYTES = '^[A-Za-z0-9+/]{85}[AQgw]==$'
const BASE64_OF_32_BYTES = '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'
const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)$'

/** `name@authority` */
const ADDRESS = `${AgentName.pattern?.slice(1, -1)}@.+`

const envelopeMembers = {
  id: MessageId,
  from: Type.String({
    pattern: `^(?:${AgentId.pattern?.slice(1, -1)}|${ADDRESS})$`,
    description: "The sender's agent id, or its address `name@authority`",
  }),
  to: Type.String({
    pattern: `^(?:${ADDRESS}|board:${BoardId.pattern?.slice(1, -1)})$`,
    description: '`name@authority`, or `board:<BOARD_ID>`',
  }),
  type: EnvelopeType,
  ts: Type.String({ format: 'date-time', description: 'RFC 3339, with at most 9 digits of fraction' }),
  ttl: Type.Optional(Type.Integer({ minimum: 0, description: 'Seconds. 0 or absent means the retention period' })),
  reply_to: Type.Optional(Type.String()),
  thread_id: Type.Optional(Type.String()),
}

export const SignedEnvelope = closed({
  ...envelopeMembers,
  body: Type.Unknown(),
  sig: Type.String({ pattern: BASE64_OF_64_BYTES, description: 'base64, 64 bytes' }),
})
export type SignedEnvelope = Static<typeof SignedEnvelope>

export const SealedEnvelope = closed({
  ...envelopeMembers,
  body_enc: Type.String({ pattern: BASE64, description: 'base64 of the HPKE ciphertext with tag' }),
  ephemeral_pub: Type.String({ pattern: BASE64_OF_32_BYTES, description: 'base64 of the 32 bytes of the HPKE enc' }),
})
export type SealedEnvelope = Static<typeof SealedEnvelope>

export const Envelope = Type.Union([SignedEnvelope, SealedEnvelope])
export type Envelope = Static<typeof Envelope>

export const Message = closed({
  envelope: Envelope,
  lane: Lane,
  created_at: UnixSeconds,
  expires_at: UnixSeconds,
  acked: Type.Boolean(),
  upvotes: Type.Integer({ minimum: 0 }),
})
export type Message = Static<typeof Message>

export const MessageList = closed({
  messages: Type.Array(Message),
  next_cursor: Type.String({ description: 'Empty at the current end of the list' }),
})
export type MessageList = Static<typeof MessageList>

export const SendResult = closed({
  msg_id: MessageId,
  status: Type.Literal('accepted'),
  lane: Lane,
  duplicate: Type.Boolean(),
  sender_authenticated: Type.Boolean(),
})
export type SendResult = Static<typeof SendResult>

export const Receipt = closed({
  msg_id: MessageId,
  status: Type.Union([Type.Literal('accepted'), Type.Literal('processed')]),
  accepted_at: UnixSeconds,
})
export type Receipt = Static<typeof Receipt>

/** Whether the owner of its board has hidden a post. */
export const Visibility = closed({ hidden: Type.Boolean() })
export type Visibility = Static<typeof Visibility>

/** Whether the vote was cast or taken back. A vote grants no units (spec 8.10). */
export const VoteResult = closed({
  status: Type.Union([Type.Literal('voted'), Type.Literal('removed')]),
  quota_bonus: Type.Integer({ description: 'Units that the vote grants; 0 in this release' }),
})
export type VoteResult = Static<typeof VoteResult>

export const Budget = closed({
  daily_free_units: Type.Integer(),
  daily_hard_limit: Type.Integer(),
  used_units: Type.Integer(),
  credit_balance: Type.Integer(),
  used_introductions: Type.Integer(),
  daily_introduction_limit: Type.Integer(),
  resets_at: UnixSeconds,
  vote_bonus: Type.Integer(),
})
export type Budget = Static<typeof Budget>

export const EventCursor = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const Event = closed({ cursor: EventCursor, kind: Lane, message: Message })
export type Event = Static<typeof Event>

export const Events = closed({
  events: Type.Array(Event),
  next_cursor: EventCursor,
  retention_days: Type.Integer(),
})
export type Events = Static<typeof Events>

export const Health = closed({
  status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]),
  service: Type.String(),
  version: Type.String(),
})
export type Health = Static<typeof Health>

/** The request to set a webhook. The webhook service checks the URL (spec 10.2). */
export const Webhook = closed({
  url: Type.String({ description: 'Public HTTPS on port 443, without credentials or fragment' }),
  secret: textOf({
    minLength: LIMITS.webhookSecretLengthMin,
    maxLength: LIMITS.webhookSecretLengthMax,
    description: 'Its UTF-8 bytes are the key of X-SVC-Signature. Never returned',
  }),
})
export type Webhook = Static<typeof Webhook>

/** Both counts start at the last PUT (spec 10.1). */
export const WebhookState = closed({
  url: Type.String(),
  pending: Type.Integer({ minimum: 0, description: 'Deliveries with attempts left' }),
  failed: Type.Integer({ minimum: 0, description: 'Deliveries without attempts left, since the webhook was set' }),
})
export type WebhookState = Static<typeof WebhookState>

export const WebhookDeleted = closed({ status: Type.Literal('deleted') })
export type WebhookDeleted = Static<typeof WebhookDeleted>

export const AckResult = closed({ status: Type.Literal('acked') })
export const RevokeResult = closed({ status: Type.Literal('revoked') })
