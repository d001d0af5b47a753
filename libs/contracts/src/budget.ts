/** What the other pieces know of the budget service. */
import { type Static, Type } from '@sinclair/typebox'
import { defineCall } from './define.ts'
import { AgentId } from './ids.ts'
import { Budget, closed } from './resources.ts'

/** The services that charge; each resolves its own abandoned reservations. */
export const ChargeOwner = Type.Union([
  Type.Literal('messaging'),
  Type.Literal('identity'),
  Type.Literal('boards'),
  Type.Literal('webhook'),
])
export type ChargeOwner = Static<typeof ChargeOwner>

/** Unique over all services: `<owner>:` and what the owner knows the operation by. */
export const OperationId = Type.String({ minLength: 3, maxLength: 200 })

/** How long an owner takes from a reservation to its commit, at most: more than the 5 s that a call may take (spec 3.17). */
export const RESERVATION_HOLD_MS = 10_000

/** What one attempt at an operation has taken. */
export const Reserved = closed({
  /** Epoch milliseconds by budget's clock; the owner may not commit past it, and a later reservation's is later. */
  deadline_ms: Type.Integer(),
  /** The operation was settled before: nothing was charged now. */
  settled: Type.Boolean(),
  /** Another attempt may still be under way on the same reservation. */
  shared: Type.Boolean(),
})
export type Reserved = Static<typeof Reserved>

/**
 * Reserves the cost of one operation, idempotent by its id: while a reservation is held or settled the same id is not
 * counted again. Source: spec 11.3, 11.5.
 * `introduction_peer`: the other agent of a DM; counts once for ever per pair. `hold_ms`: how long the owner may take.
 * Codes, in this order: `introduction_limit_reached`, `hard_limit_reached`, `budget_exhausted`.
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

/** Makes a held reservation final. Unknown or settled ones stay as they are. */
export const settle = defineCall({
  subject: 'svc.budget.settle',
  request: closed({ operation: OperationId }),
  reply: closed({}),
})

/**
 * As `settle`, for many operations of one owner and without waiting for the disk: a crash of the database may undo it
 * within the second. Such reservations are held again, become overdue, and their owner settles them.
 */
export const settleSoon = defineCall({
  subject: 'svc.budget.settle-soon',
  request: closed({ operations: Type.Array(OperationId, { minItems: 1, maxItems: 128 }) }),
  reply: closed({}),
})

/** Gives back what a held reservation took, unless it has a later deadline than `deadline_ms`; others stay as they are. */
export const release = defineCall({
  subject: 'svc.budget.release',
  request: closed({ operation: OperationId, deadline_ms: Type.Integer() }),
  reply: closed({}),
})

export const OverdueReservation = closed({ operation: OperationId, deadline_ms: Type.Integer() })
export type OverdueReservation = Static<typeof OverdueReservation>

/** Held reservations of an owner whose deadline has passed, oldest first: the owner fences and answers with settle or release. */
export const listOverdue = defineCall({
  subject: 'svc.budget.list-overdue',
  request: closed({ owner: ChargeOwner, limit: Type.Integer({ minimum: 1, maximum: 1000 }) }),
  reply: closed({ reservations: Type.Array(OverdueReservation) }),
})

/** The agent's budget of the current UTC day. Source: spec 11.6. */
export const getBudget = defineCall({
  subject: 'svc.budget.get-budget',
  request: closed({ agent_id: AgentId }),
  reply: Budget,
})

/** `granted` false: the reference was used before, with the same values. */
export const GrantResult = closed({ granted: Type.Boolean(), credit_balance: Type.Integer() })
export type GrantResult = Static<typeof GrantResult>

/**
 * Issues credits, idempotent by reference: the same values again change nothing and say so, other values are refused.
 * For the operator tool alone. Source: spec 11.4. Codes: `id_conflict`.
 */
export const grantCredits = defineCall({
  subject: 'admin.budget.grant-credits',
  request: closed({
    agent_id: AgentId,
    units: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    reference: Type.String({ minLength: 1, maxLength: 200 }),
    /** Answers what it would, and grants nothing. */
    dry_run: Type.Optional(Type.Boolean()),
  }),
  reply: GrantResult,
})
