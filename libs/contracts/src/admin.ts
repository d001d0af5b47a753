/**
 * The calls that the operator's tool (`svc admin`) makes to the services. An operator publishes to
 * `admin.<service>.<call>.<operator>`, under its own name only (deploy/nats/users.conf). No answer contains the content of a message, a
 * secret, or more of a webhook's URL than its host.
 */
import { type Static, Type } from '@sinclair/typebox'
import { ChargeOwner, OperationId } from './budget.ts'
import { type Call, defineCall } from './define.ts'
import { AgentId, BoardId, MessageId } from './ids.ts'
import { Reason } from './reason.ts'
import { closed } from './resources.ts'
import { Suspension } from './suspension.ts'

const Count = Type.Integer({ minimum: 0 })
const Nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()])

/** @returns the call as this operator makes it. Calls of services stay as they are. */
export function askedBy<Q, R>(operator: string, call: Call<Q, R>): Call<Q, R> {
  if (!call.subject.startsWith('admin.')) return call
  return { ...call, subject: `${call.subject}.${operator}`, name: call.name ?? call.subject }
}

// Audit

/** One change by an operator. Rows are never changed or deleted, except that an erased agent's id becomes a keyed hash. */
export const AuditEntry = closed({
  /** Contiguous enough to follow: rows of a service become visible in this order. */
  id: Count,
  /** When, in Unix milliseconds. */
  at_ms: Count,
  /** The operator's login. */
  operator: Type.String(),
  /** What was done, such as `grant` or `suspend`. */
  action: Type.String(),
  /** On whom or what: the id of an agent, a message or a board. Null: on all. */
  target: Nullable(Type.String()),
  /** The operator's own reference, such as the number of an invoice or a ticket. */
  reference: Nullable(Type.String()),
  reason: Type.String(),
  /** The outcome in figures, such as `{ "credit_balance": 500 }`. */
  result: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
})
export type AuditEntry = Static<typeof AuditEntry>

/** The services that keep an audit: those with data that an operator can change. */
export const AUDITED = ['identity', 'messaging', 'boards', 'budget', 'webhook'] as const
export type Audited = (typeof AUDITED)[number]

/** Lists the audit of a service after the id `after`, oldest first. `newest`: the last `limit` entries instead. */
export const listAudit = (service: Audited) =>
  defineCall({
    subject: `admin.${service}.list-audit`,
    request: closed({
      after: Count,
      limit: Type.Integer({ minimum: 1, maximum: 1_000 }),
      newest: Type.Boolean(),
      /** Only entries about this agent, message or board. */
      target: Nullable(Type.String({ minLength: 1 })),
      operator: Nullable(Type.String({ minLength: 1 })),
    }),
    reply: closed({ entries: Type.Array(AuditEntry) }),
  })

// Suspension

const ChangeSuspension = {
  /** An agent id or a name. */
  agent: Type.String({ minLength: 3, maxLength: 64 }),
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  dry_run: Type.Boolean(),
  reason: Type.Optional(Reason),
}
const ChangedSuspension = closed({
  agent_id: AgentId,
  name: Type.String(),
  /** False: it was so before. For a dry run, whether anything would change. */
  changed: Type.Boolean(),
  /** The services that have not confirmed the change yet. Identity repeats it until they do. */
  waiting_for: Type.Array(Type.String()),
})

/**
 * Suspends an agent until a time (Unix seconds; null: until it is resumed), or moves the end of its suspension (spec 12.4). Codes:
 * `not_found`; `invalid_request` for a time that is not in the future; `agent_revoked`.
 */
export const suspendAgent = defineCall({
  subject: 'admin.identity.suspend-agent',
  request: closed({ ...ChangeSuspension, ...Suspension.properties }),
  reply: closed({ ...ChangedSuspension.properties, ...Suspension.properties }),
  isAnswerTo: ({ until }, answer) => until === answer.until,
})

/** Ends the suspension of an agent. Codes: `not_found`. */
export const resumeAgent = defineCall({
  subject: 'admin.identity.resume-agent',
  request: closed(ChangeSuspension),
  reply: ChangedSuspension,
})

// Expiry

/** Runs one batch of the purge loop. `dry_run` counts up to 10,000 of each kind and changes nothing. */
export const purgeExpired = defineCall({
  subject: 'admin.messaging.purge',
  request: closed({ dry_run: Type.Boolean(), reason: Type.Optional(Reason) }),
  reply: closed({
    /** Partitions of messages, entries and votes that were emptied. */
    partitions: Count,
    requests: Count,
    fences: Count,
    /** At least one count has reached its limit, so there may be more. */
    more: Type.Boolean(),
  }),
})

// Raised heads

/**
 * Raises the heads of all logs by `by` positions, `limit` logs in a call: repeat it until `more` is false. A reference raises
 * each log once, so a repeat continues, or changes nothing. `id_conflict`: the reference was used with another number.
 * Logs that are opened later begin above the raise. `dry_run` counts and changes nothing.
 */
export const raiseHeads = defineCall({
  subject: 'admin.messaging.raise-heads',
  request: closed({
    reference: Type.String({ minLength: 1, maxLength: 200 }),
    by: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    limit: Type.Integer({ minimum: 1, maximum: 10_000 }),
    dry_run: Type.Boolean(),
    reason: Type.Optional(Reason),
  }),
  reply: closed({
    /** The logs that this call has raised. */
    raised: Count,
    /** The logs that all calls with this reference have raised. */
    logs: Count,
    more: Type.Boolean(),
  }),
})

// Takedown

/** Why a message or a board is taken down or restored. `reference`: the operator's own, such as the number of a ticket. */
const Takedown = {
  reason: Type.Optional(Reason),
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
}

const onMessage = {
  request: closed({ id: MessageId, dry_run: Type.Boolean(), ...Takedown }),
  reply: closed({
    kind: Type.Union([Type.Literal('message'), Type.Literal('post')]),
    /** False: a repeat, which changed nothing. For a dry run: whether the call would change anything. */
    changed: Type.Boolean(),
    /** The agent whose webhook may have a delivery of the message. Null: a post, which is never delivered. */
    recipient: Nullable(AgentId),
  }),
}

/** Takes a live message down for everybody (spec 12.4). Codes: `not_found`. The caller then holds its delivery (`holdMessage`). */
export const takedownMessage = defineCall({ subject: 'admin.messaging.takedown-message', ...onMessage })

/** Shows a message again that was taken down, if it has not expired. Codes: `not_found`. The caller then releases its delivery. */
export const restoreMessage = defineCall({ subject: 'admin.messaging.restore-message', ...onMessage })

const onBoard = {
  request: closed({ board_id: BoardId, dry_run: Type.Boolean(), ...Takedown }),
  /** False: a repeat, which changed nothing. For a dry run: whether the call would change anything. */
  reply: closed({ changed: Type.Boolean() }),
}

/** Takes a board down for everybody, its owner included (spec 12.4). Codes: `not_found`. */
export const takedownBoard = defineCall({ subject: 'admin.boards.takedown-board', ...onBoard })

/** Shows a board again that was taken down. Codes: `not_found`. */
export const restoreBoard = defineCall({ subject: 'admin.boards.restore-board', ...onBoard })

const onDelivery = {
  request: closed({ agent_id: AgentId, message_id: MessageId, ...Takedown }),
  /** False: there was nothing to hold or to release. */
  reply: closed({ changed: Type.Boolean() }),
}

/** Holds the delivery of a message that was taken down. An attempt that is under way may still arrive. */
export const holdMessage = defineCall({ subject: 'admin.webhook.hold-message', ...onDelivery })

/** Makes a held delivery due, if the webhook has not changed since and the delivery is not forgotten (3 days). */
export const releaseMessage = defineCall({ subject: 'admin.webhook.release-message', ...onDelivery })

// Webhook jobs

export const WebhookJobs = closed({
  agent_id: AgentId,
  /** Only the host of the URL, because a path may contain a secret. Null if no webhook is set. */
  host: Nullable(Type.String()),
  /** `pending`: jobs with attempts left. `due`: the pending jobs that a worker may take now. */
  pending: Count,
  due: Count,
  /**
   * `failed`: jobs of this configuration without attempts left. `retryable`: those whose message still exists and has
   * not expired.
   */
  failed: Count,
  retryable: Count,
  /** Seconds for which the oldest job has been due; 0 if none is due. */
  oldest_due_seconds: Type.Number({ minimum: 0 }),
  /** The last attempt failed or was slow, and too few quick deliveries have followed. */
  struggling: Type.Boolean(),
  /** Why the last attempt that failed did so, in words, and when (Unix seconds). Null: none has failed since the last PUT. */
  last_error: Nullable(Type.String()),
  last_error_at: Nullable(Type.Integer({ minimum: 0 })),
})
export type WebhookJobs = Static<typeof WebhookJobs>

/** Lists webhooks with pending or failed jobs, by agent id. With `agent_id`, lists only that agent's webhook, even without such jobs. */
export const inspectJobs = defineCall({
  subject: 'admin.webhook.inspect-jobs',
  request: closed({
    agent_id: Nullable(AgentId),
    after: Type.String(),
    limit: Type.Integer({ minimum: 1, maximum: 1_000 }),
  }),
  reply: closed({ webhooks: Type.Array(WebhookJobs), next: Nullable(Type.String()) }),
})

/**
 * Makes failed jobs of current configurations due again, with a full set of attempts. Applies to one agent, to one message,
 * or to all, at most `limit` jobs per call. Jobs whose message has expired stay failed. `dry_run` counts and changes
 * nothing.
 */
export const retryJobs = defineCall({
  subject: 'admin.webhook.retry-jobs',
  request: closed({
    agent_id: Nullable(AgentId),
    message_id: Nullable(MessageId),
    limit: Type.Integer({ minimum: 1, maximum: 10_000 }),
    dry_run: Type.Boolean(),
    reason: Type.Optional(Reason),
  }),
  reply: closed({ jobs: Count, more: Type.Boolean() }),
})

// The books

/** An inconsistency in the books. */
export const Discrepancy = closed({
  /** The broken rule; docs/operating/books.md lists them all. */
  rule: Type.String(),
  /** Id of an agent, a log, a message or an operation. */
  id: Type.String(),
  /** UTC day such as `2026-11-20`, if the rule is about one day. */
  day: Nullable(Type.String()),
  expected: Type.Union([Type.Number(), Type.String(), Type.Null()]),
  found: Type.Union([Type.Number(), Type.String(), Type.Null()]),
})
export type Discrepancy = Static<typeof Discrepancy>

const Page = { checked: Count, discrepancies: Type.Array(Discrepancy), next: Nullable(Type.String()) }
/** Limit per page. A book that is wrong throughout is not reported line by line. */
export const DISCREPANCIES_MAX = 100
const VerifyPage = (maximum: number) =>
  closed({
    /** The `next` of the previous page; empty for the first page. */
    after: Type.String(),
    limit: Type.Integer({ minimum: 1, maximum }),
    /** Checks only this id. */
    id: Nullable(Type.String({ minLength: 1 })),
  })

/** Sum of the charges of one day. */
const Sum = closed({ agent_id: Type.String(), units: Type.Integer(), credits: Type.Integer() })
export type Sum = Static<typeof Sum>

/**
 * Sums the ended charges of the current UTC day by agent. Reads up to `limit` charges in the order of their deadlines, up
 * to `until_ms` (null: a minute ago; the answer contains the time used). For large ledgers: the caller adds up the pages,
 * and `verifyAccounts` supplies the rest.
 */
export const sumCharges = defineCall({
  subject: 'admin.budget.sum-charges',
  request: closed({
    after: Type.String(),
    until_ms: Nullable(Type.Integer()),
    limit: Type.Integer({ minimum: 1, maximum: 10_000 }),
    agent_id: Nullable(AgentId),
  }),
  reply: closed({
    checked: Count,
    sums: Type.Array(Sum),
    until_ms: Type.Integer(),
    day: Type.String(),
    next: Nullable(Type.String()),
  }),
})

/**
 * Compares accounts with the rows that they count, in one snapshot, by agent id: balances, introductions of every day,
 * pending pairs, and reservations that are a minute past their deadline. It also compares units and credits of the current
 * day, in one of two ways. Without `until_ms` it reads all reservations. With `until_ms`, `today` is the part of the
 * counters that the charges of `sumCharges` up to that time do not include.
 */
export const verifyAccounts = defineCall({
  subject: 'admin.budget.verify-accounts',
  request: closed({ ...VerifyPage(100_000).properties, until_ms: Type.Optional(Type.Integer()) }),
  reply: closed({ ...Page, today: Type.Optional(Type.Array(Sum)), day: Type.Optional(Type.String()) }),
})

/** Compares the heads of logs with their entries, and entries with their messages, by log. */
export const verifyLogs = defineCall({
  subject: 'admin.messaging.verify-logs',
  request: VerifyPage(10_000),
  reply: closed(Page),
})

/** The charge that an operation had, or should have had. */
export const Charge = closed({
  operation: OperationId,
  agent_id: AgentId,
  units: Count,
  introduction_peer: Nullable(AgentId),
})
export type Charge = Static<typeof Charge>

/**
 * Compares live messages with their entries, by sender, and returns what each should have cost. `charges` covers messages
 * that were accepted so recently that their charge is still known. `pairs` lists all pairs that must have been introduced.
 */
export const verifyMessages = defineCall({
  subject: 'admin.messaging.verify-messages',
  request: VerifyPage(1_000),
  reply: closed({
    ...Page,
    charges: Type.Array(Charge),
    pairs: Type.Array(closed({ agent_id: AgentId, peer: AgentId })),
  }),
})

/** Lists operations, other than messages, that an owner has recorded as done within the last 23 hours. */
export const listOperations = (owner: ChargeOwner) =>
  defineCall({
    subject: `admin.${owner}.list-operations`,
    request: closed({ after: Type.String(), limit: Type.Integer({ minimum: 1, maximum: 1_000 }) }),
    reply: closed({ operations: Type.Array(OperationId), next: Nullable(Type.String()) }),
  })

/**
 * How far back charges and operations are compared. Both are kept for at least a day (libs/charging, What is forgotten).
 * This period is shorter, so that neither expires during a comparison.
 */
export const COMPARED_MS = 23 * 60 * 60 * 1000

/** Tells whether an owner has done these operations and, for messages that still exist, what they should have cost. */
export const judgeOperations = (owner: ChargeOwner) =>
  defineCall({
    subject: `admin.${owner}.judge-operations`,
    request: closed({ operations: Type.Array(OperationId, { minItems: 1, maxItems: 1_000 }) }),
    reply: closed({ verdicts: Type.Array(closed({ done: Type.Boolean(), charge: Nullable(Charge) })) }),
    isAnswerTo: ({ operations }, { verdicts }) =>
      areOf(
        operations,
        verdicts.map(({ charge }) => charge),
      ),
  })

/** Whether there is a charge, or null, for each operation in order. */
function areOf(operations: readonly string[], charges: readonly (Charge | null)[]): boolean {
  return (
    charges.length === operations.length &&
    charges.every((charge, at) => charge === null || charge.operation === operations[at])
  )
}

/** Lists settled charges of the last 23 hours, by deadline. */
export const listCharges = defineCall({
  subject: 'admin.budget.list-charges',
  request: closed({
    after: Type.String(),
    limit: Type.Integer({ minimum: 1, maximum: 1_000 }),
    agent_id: Nullable(AgentId),
  }),
  reply: closed({
    charges: Type.Array(closed({ owner: ChargeOwner, ...Charge.properties })),
    next: Nullable(Type.String()),
  }),
})

/** Returns the charges of these operations (held or settled; null: none), and which of these pairs were introduced. */
export const judgeCharges = defineCall({
  subject: 'admin.budget.judge-charges',
  request: closed({
    operations: Type.Array(OperationId, { maxItems: 1_000 }),
    pairs: Type.Array(closed({ agent_id: AgentId, peer: AgentId }), { maxItems: 1_000 }),
  }),
  reply: closed({ charges: Type.Array(Nullable(Charge)), introduced: Type.Array(Type.Boolean()) }),
  isAnswerTo: ({ operations, pairs }, { charges, introduced }) =>
    areOf(operations, charges) && introduced.length === pairs.length,
})
