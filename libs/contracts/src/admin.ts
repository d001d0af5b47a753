/**
 * What the operator's tool (`svc admin`) asks of the services. Subjects are `admin.<service>.<call>`, beside those that
 * services ask each other for: the NATS user `admin` alone may publish them (deploy/nats/users.conf). None of them answers
 * with what is in a message, a secret, or more of a webhook's URL than its host.
 */
import { type Static, Type } from '@sinclair/typebox'
import { ChargeOwner, OperationId } from './budget.ts'
import { defineCall } from './define.ts'
import { AgentId, MessageId } from './ids.ts'
import { closed } from './resources.ts'

const Count = Type.Integer({ minimum: 0 })
/** Epoch seconds, with a fraction. */
const Moment = Type.Number()
const Nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()])

// The outbox

const OutboxId = Type.Integer({ minimum: 1 })

/** An outbox row: one transaction that appended, and where JetStream has put its events. */
export const OutboxEntry = closed({
  id: OutboxId,
  events: Count,
  created_at: Moment,
  /** Null: it is not published yet, or to be published again. */
  published_at: Nullable(Moment),
  /** The creation time of the stream that gave the sequence. */
  epoch: Nullable(Type.String()),
  /** At or below it all of the row's events are. */
  last_sequence: Nullable(Count),
})
export type OutboxEntry = Static<typeof OutboxEntry>

/** How far the outbox is, and its newest rows below `before`, newest first. */
export const inspectOutbox = defineCall({
  subject: 'admin.messaging.inspect-outbox',
  request: closed({ before: Nullable(OutboxId), limit: Type.Integer({ minimum: 0, maximum: 1_000 }) }),
  reply: closed({
    unpublished: Count,
    /** Seconds since the commit of the oldest row that is not published; 0 where all are. */
    oldest_unpublished_seconds: Type.Number({ minimum: 0 }),
    oldest_unpublished: Nullable(OutboxEntry),
    rows: Type.Array(OutboxEntry),
  }),
})

/**
 * Has rows published again that were, `from` to `to`, both inside; `next`: where to go on, null at the end. Safe to repeat: consumers know an event
 * by its cursor, and a row that waits to be published is passed over. `dry_run` says how many, and changes nothing.
 */
export const republish = defineCall({
  subject: 'admin.messaging.republish',
  request: closed({
    from: OutboxId,
    to: OutboxId,
    limit: Type.Integer({ minimum: 1, maximum: 1_000 }),
    dry_run: Type.Boolean(),
  }),
  reply: closed({ rows: Count, events: Count, next: Nullable(OutboxId) }),
})

// Expiry

/** One batch of what the purge loop does by itself. `dry_run` counts up to 10,000 of each kind, and changes nothing. */
export const purgeExpired = defineCall({
  subject: 'admin.messaging.purge',
  request: closed({ dry_run: Type.Boolean() }),
  reply: closed({
    messages: Count,
    votes: Count,
    requests: Count,
    outbox_rows: Count,
    fences: Count,
    /** There is more, or was in one of the counts. */
    more: Type.Boolean(),
  }),
})

// Webhook jobs

export const WebhookJobs = closed({
  agent_id: AgentId,
  /** Of its URL: a path may hold a secret. Null: none is set. */
  host: Nullable(Type.String()),
  /** With attempts left, and of these those that a worker may take now. */
  pending: Count,
  due: Count,
  /** Given up since the configuration; `retryable`: of these those whose message is still kept and has not expired. */
  failed: Count,
  retryable: Count,
  /** How long the oldest has been due; 0 where none is. */
  oldest_due_seconds: Type.Number({ minimum: 0 }),
  /** The last attempt failed. */
  struggling: Type.Boolean(),
})
export type WebhookJobs = Static<typeof WebhookJobs>

/** Webhooks with jobs that wait or were given up, by agent id; with `agent_id` that one alone, whatever it has. */
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
 * Makes failed jobs of present configurations due again, with all of their attempts; of one agent, of one message, or of all, at most
 * `limit` in one call. Those whose message has expired stay failed. `dry_run` says how many, and changes nothing.
 */
export const retryJobs = defineCall({
  subject: 'admin.webhook.retry-jobs',
  request: closed({
    agent_id: Nullable(AgentId),
    message_id: Nullable(MessageId),
    limit: Type.Integer({ minimum: 1, maximum: 10_000 }),
    dry_run: Type.Boolean(),
  }),
  reply: closed({ jobs: Count, more: Type.Boolean() }),
})

// The books

/** Something that does not add up. */
export const Discrepancy = closed({
  /** Which rule is broken; docs/operating.md has them all. */
  rule: Type.String(),
  /** Of an agent, a log, a message or an operation. */
  id: Type.String(),
  /** UTC, `2026-11-20`, where it is of one day. */
  day: Nullable(Type.String()),
  expected: Type.Union([Type.Number(), Type.String(), Type.Null()]),
  found: Type.Union([Type.Number(), Type.String(), Type.Null()]),
})
export type Discrepancy = Static<typeof Discrepancy>

const Page = { checked: Count, discrepancies: Type.Array(Discrepancy), next: Nullable(Type.String()) }
/** Of one page: a book that is wrong from end to end is not told line by line. */
export const DISCREPANCIES_MAX = 100
const VerifyPage = (maximum: number) =>
  closed({
    /** Of the page before; empty: from the start. */
    after: Type.String(),
    limit: Type.Integer({ minimum: 1, maximum }),
    /** This one alone. */
    id: Nullable(Type.String({ minLength: 1 })),
  })

/** What charges of one day come to. */
const Sum = closed({ agent_id: Type.String(), units: Type.Integer(), credits: Type.Integer() })
export type Sum = Static<typeof Sum>

/**
 * What ended charges of the current UTC day come to, by agent, of up to `limit` charges in the order of their deadlines, up to `until_ms` (null: a
 * minute ago, which is answered). For large ledgers: pages are added up, and `verifyAccounts` says the rest.
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
 * Holds accounts against what they count, in one snapshot: balances, introductions of every day, pairs that wait,
 * reservations that are a minute past their deadline; and units and credits of the current day. Of these either all is held
 * here, which reads all reservations there are; or, with `until_ms`, `today` says what remains of the counters less all charges
 * that `sumCharges` up to then does not have. By agent id.
 */
export const verifyAccounts = defineCall({
  subject: 'admin.budget.verify-accounts',
  request: closed({ ...VerifyPage(100_000).properties, until_ms: Type.Optional(Type.Integer()) }),
  reply: closed({ ...Page, today: Type.Optional(Type.Array(Sum)), day: Type.Optional(Type.String()) }),
})

/** Holds the heads of logs against their entries, and entries against their messages. By log. */
export const verifyLogs = defineCall({
  subject: 'admin.messaging.verify-logs',
  request: VerifyPage(10_000),
  reply: closed(Page),
})

/** What somebody was, or should have been, charged for. */
export const Charge = closed({
  operation: OperationId,
  agent_id: AgentId,
  units: Count,
  introduction_peer: Nullable(AgentId),
})
export type Charge = Static<typeof Charge>

/**
 * Holds live messages against their entries, by sender, and says what each should have cost. `charges` are those accepted
 * so lately that the charge is still known; `pairs` all that must have been introduced.
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

/** Operations that an owner has recorded as done, beside messages, within the last 23 hours. */
export const listOperations = (owner: ChargeOwner) =>
  defineCall({
    subject: `admin.${owner}.list-operations`,
    request: closed({ after: Type.String(), limit: Type.Integer({ minimum: 1, maximum: 1_000 }) }),
    reply: closed({ operations: Type.Array(OperationId), next: Nullable(Type.String()) }),
  })

/**
 * How far back charges and what was done are held against each other: both are kept for a day at least (libs/charging, What is
 * forgotten), and this is so much less that neither is gone while the other is looked for.
 */
export const AUDITED_MS = 23 * 60 * 60 * 1000

/** Whether an owner has done these operations; of a message that is still there also what it should have cost. */
export const judgeOperations = (owner: ChargeOwner) =>
  defineCall({
    subject: `admin.${owner}.judge-operations`,
    request: closed({ operations: Type.Array(OperationId, { minItems: 1, maxItems: 1_000 }) }),
    reply: closed({ verdicts: Type.Array(closed({ done: Type.Boolean(), charge: Nullable(Charge) })) }),
  })

/** Settled charges of the last 23 hours, by deadline. */
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

/** What of these operations is charged (held or settled; null: nothing is), and which of these pairs were introduced. */
export const judgeCharges = defineCall({
  subject: 'admin.budget.judge-charges',
  request: closed({
    operations: Type.Array(OperationId, { maxItems: 1_000 }),
    pairs: Type.Array(closed({ agent_id: AgentId, peer: AgentId }), { maxItems: 1_000 }),
  }),
  reply: closed({ charges: Type.Array(Nullable(Charge)), introduced: Type.Array(Type.Boolean()) }),
})
