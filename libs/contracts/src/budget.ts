/** The calls of the budget service. */
import { type Static, Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId } from './ids.ts'
import { Reason } from './reason.ts'
import { Budget, closed } from './resources.ts'

/** The services that charge. Each resolves its own abandoned reservations. */
export const ChargeOwner = Type.Union([
  Type.Literal('messaging'),
  Type.Literal('identity'),
  Type.Literal('boards'),
  Type.Literal('webhook'),
])
export type ChargeOwner = Static<typeof ChargeOwner>

/** Unique over all services: `<owner>:`, followed by the owner's own id of the operation. */
export const OperationId = Type.String({ minLength: 3, maxLength: 200 })

/** The longest time between a reservation and its commit. It is more than the 5 s that a call may take (spec 3.17). */
export const RESERVATION_HOLD_MS = 10_000

/** The answer to one attempt to reserve. */
export const Reserved = closed({
  /** Epoch milliseconds by budget's clock. The owner must not commit after this time. A later reservation has a later deadline. */
  deadline_ms: Type.Integer(),
  /** The operation was already settled, so nothing was charged now. */
  settled: Type.Boolean(),
  /** Another attempt may still be using the same reservation. */
  shared: Type.Boolean(),
})
export type Reserved = Static<typeof Reserved>

/**
 * Reserves the cost of an operation, idempotent by its id: while a reservation is held or settled, a repeat costs nothing
 * (spec 11.3, 11.5). `introduction_peer`: the other agent of a DM; each pair counts once for ever. `hold_ms`: how long the
 * owner may take to commit. Codes, in this order: `introduction_limit_reached`, `hard_limit_reached`, `budget_exhausted`.
 */
export const reserve = defineCall({
  subject: 'svc.budget.reserve',
  request: closed({
    operation: OperationId,
    owner: ChargeOwner,
    agent_id: AgentId,
    units: Type.Integer({ minimum: 0 }),
    introduction_peer: Type.Union([AgentId, Type.Null()]),
    hold_ms: Type.Integer({ minimum: 1, maximum: 60_000 }),
  }),
  reply: Reserved,
})

/** Makes a held reservation final. No-op if it is unknown or settled. */
export const settle = defineCall({
  subject: 'svc.budget.settle',
  request: closed({ operation: OperationId }),
  reply: closed({}),
})

/**
 * Like `settle`, for many operations of one owner, but does not wait for the disk. If the database crashes within the next
 * second, the settlement may be lost. The reservation is then held again, becomes overdue, and its owner settles it.
 */
export const settleSoon = defineCall({
  subject: 'svc.budget.settle-soon',
  request: closed({ operations: Type.Array(OperationId, { minItems: 1, maxItems: 128 }) }),
  reply: closed({}),
})

/** Returns the cost of a held reservation, unless its deadline is later than `deadline_ms`. No-op in all other cases. */
export const release = defineCall({
  subject: 'svc.budget.release',
  request: closed({ operation: OperationId, deadline_ms: Type.Integer() }),
  reply: closed({}),
})

export const OverdueReservation = closed({ operation: OperationId, deadline_ms: Type.Integer() })
export type OverdueReservation = Static<typeof OverdueReservation>

/**
 * Lists an owner's held reservations whose deadline has passed, oldest first. The owner fences each operation, and then
 * settles or releases the reservation.
 */
export const listOverdue = defineCall({
  subject: 'svc.budget.list-overdue',
  request: closed({ owner: ChargeOwner, limit: Type.Integer({ minimum: 1, maximum: 1000 }) }),
  reply: closed({ reservations: Type.Array(OverdueReservation) }),
})

/** The agent's budget for the current UTC day (spec 11.6). */
export const getBudget = defineCall({
  subject: 'svc.budget.get-budget',
  request: closed({ agent_id: AgentId }),
  reply: Budget,
})

/** `granted` is false if the reference was used before with the same values. */
export const GrantResult = closed({ granted: Type.Boolean(), credit_balance: Type.Integer() })
export type GrantResult = Static<typeof GrantResult>

/**
 * Grants credits, idempotent by reference: a repeat with the same values changes nothing and says so, and other values are
 * refused. Only for the operator's tool (spec 11.4). Codes: `id_conflict`.
 */
export const grantCredits = defineCall({
  subject: 'admin.budget.grant-credits',
  request: closed({
    agent_id: AgentId,
    units: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    reference: Type.String({ minLength: 1, maxLength: 200 }),
    /** Why; needed unless `dry_run`. */
    reason: Type.Optional(Reason),
    /** Returns the result without granting anything. */
    dry_run: Type.Optional(Type.Boolean()),
  }),
  reply: GrantResult,
})
