/**
 * The erasure of an agent (spec 12.4). An operator asks identity for it. When it is due, identity makes the other calls, in the
 * order of services/identity/src/domain/erasure-steps.ts. Their subjects are `erase.<service>.<call>`, because the gateway, which may
 * call `svc.>`, must not make them. All may be repeated.
 */
import { type Static, Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId, MessageId } from './ids.ts'
import { Reason } from './reason.ts'
import { closed } from './resources.ts'

const Count = Type.Integer({ minimum: 0 })

/** What was removed or replaced, by kind, such as `{ "messages": 12 }`. */
export const ErasedCounts = Type.Record(Type.String(), Count)
export type ErasedCounts = Static<typeof ErasedCounts>

/** The services that keep data of agents, besides identity. */
export const ERASING = ['messaging', 'webhook', 'boards', 'budget'] as const
export type Erasing = (typeof ERASING)[number]

/**
 * Erases an agent's data in one service. If a row must stay, such as a charge, the tombstone replaces the id. If `done` is false,
 * more data remains: call again.
 */
export const eraseAgent = (service: Erasing) =>
  defineCall({
    subject: `erase.${service}.agent`,
    request: closed({
      agent_id: AgentId,
      /** A keyed hash of the agent id, in the form of an agent id. */
      tombstone: AgentId,
      /** For the audit. */
      operator: Type.String(),
      reason: Reason,
      reference: Type.Union([Type.String(), Type.Null()]),
    }),
    reply: closed({ done: Type.Boolean(), counts: ErasedCounts }),
  })

/**
 * Removes the texts of deliveries whose messages are gone from messaging. A page starts after the place `after`. `next` is the
 * `after` of the next page; null at the end.
 */
export const eraseOrphans = defineCall({
  subject: 'erase.webhook.orphans',
  request: closed({ after: Type.String() }),
  reply: closed({ next: Type.Union([Type.String(), Type.Null()]), counts: ErasedCounts }),
})

/** Of the given messages, lists those that messaging does not have. */
export const listMissing = defineCall({
  subject: 'svc.messaging.list-missing',
  request: closed({ message_ids: Type.Array(MessageId, { maxItems: 1_000 }) }),
  reply: closed({ missing: Type.Array(MessageId) }),
})

// Calls of operators

export const ErasureState = closed({
  /** The keyed hash that replaces the agent's id. */
  tombstone: AgentId,
  /** Null once the agent is erased. */
  agent_id: Type.Union([AgentId, Type.Null()]),
  /** When the erasure was asked for, when it begins or goes on, and when it ended (null: not yet), in Unix seconds. */
  requested_at: Count,
  due_at: Count,
  finished_at: Type.Union([Count, Type.Null()]),
  /** The step that is next; `close` until it has begun, `done` at the end. */
  step: Type.String(),
  operator: Type.String(),
  reason: Type.String(),
  reference: Type.Union([Type.String(), Type.Null()]),
  /** What was removed or replaced, by step and kind. */
  report: Type.Record(Type.String(), ErasedCounts),
})
export type ErasureState = Static<typeof ErasureState>

const OneAgent = {
  /** An agent id or a name. */
  agent: Type.String({ minLength: 3, maxLength: 64 }),
  dry_run: Type.Boolean(),
  reason: Type.Optional(Reason),
}

/** 90 days. */
export const MAX_ERASURE_DELAY_SECONDS = 90 * 86_400

/**
 * Suspends an agent, and erases it after a time in which an operator can change their mind. A repeat moves the beginning, until
 * it has begun. Codes: `not_found`; an agent that was erased already is found by its id, and nothing changes.
 */
export const demandErasure = defineCall({
  subject: 'admin.identity.erase-agent',
  request: closed({
    ...OneAgent,
    delay_seconds: Type.Integer({ minimum: 0, maximum: MAX_ERASURE_DELAY_SECONDS }),
    reference: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  }),
  reply: closed({ changed: Type.Boolean(), erasure: ErasureState }),
})

/** Withdraws an erasure that has not begun, and resumes the agent unless it was suspended before. Codes: `not_found`, `forbidden`. */
export const cancelErasure = defineCall({
  subject: 'admin.identity.cancel-erasure',
  request: closed(OneAgent),
  reply: closed({ agent_id: AgentId, resumed: Type.Boolean() }),
})

/** Lists erasures that are not finished, then the newest finished ones, with their reports. */
export const listErasures = defineCall({
  subject: 'admin.identity.list-erasures',
  request: closed({ limit: Type.Integer({ minimum: 1, maximum: 1_000 }) }),
  reply: closed({ erasures: Type.Array(ErasureState) }),
})
