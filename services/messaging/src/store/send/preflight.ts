import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { InboxPolicy, Lane } from '@svc/contracts/resources.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Reference } from '../../domain/acceptance.ts'
import type { Standing } from '../../domain/admission.ts'
import { earlierColumns, earlierJoins } from './earlier.ts'

export interface PreflightQuestion {
  id: string
  /** SHA-256 of the JCS bytes, lower-case hex. */
  digest: string
  sender: string
  /** Null if the recipient is not an agent here. Then only an earlier message with this id can be found. */
  recipient: string | null
  replyTo: string | null
  threadId: string | null
}

/** Everything that is judged before the cost is reserved. */
export interface Preflight {
  /** The message that has this id already, even if it was purged. */
  earlier: { isIdentical: boolean; lane: Lane } | undefined
  recipientRevoked: boolean
  standing: Standing
  /** The append compares this first: if the recipient has changed nothing since, the standing is the same. */
  standingVersion: number
  /** Undefined if the envelope has no such reference. */
  replyTo: Reference | undefined
  thread: Reference | undefined
}

interface Row {
  /** Null if the id is not taken. */
  identical: boolean | null
  earlier_lane: Lane | null
  policy: InboxPolicy | null
  revoked: boolean | null
  standing_version: number | null
  contact: 'accepted' | 'blocked' | null
  pending: boolean
  reply_found: boolean
  thread_found: boolean
  thread_root: boolean
}

const MAX_ITEMS = 128

/** Answers concurrent questions with one statement. A recipient without a log has the default settings (spec 5.8). */
export function createPreflight(database: Database): Batcher<PreflightQuestion, Preflight> {
  return createBatcher({
    name: 'messaging.preflight',
    maxItems: MAX_ITEMS,
    overloaded: () =>
      new ServiceError('unavailable', { cause: new Error('too many messages are waiting to be checked') }),
    run: async (questions) => {
      const rows = await database.run(
        (sql) => sql<Row[]>`
        select
          ${earlierColumns(sql)},
          l.policy, l.revoked, l.standing_version,
          c.state as contact,
          p.message is not null as pending,
          r.place is not null as reply_found,
          h.place is not null as thread_found,
          h.place is not null and h.thread_id is null as thread_root
        from unnest(
          ${questions.map((q) => q.id)}::text[], ${questions.map((q) => q.digest)}::text[],
          ${questions.map((q) => q.sender)}::text[],
          ${questions.map((q) => q.recipient)}::text[], ${questions.map((q) => q.replyTo)}::text[],
          ${questions.map((q) => q.threadId)}::text[]
        ) with ordinality as q (id, digest, sender, recipient, reply_to, thread_id, ord)
        cross join (select floor(extract(epoch from clock_timestamp()))::bigint as seconds) as now
        ${earlierJoins(sql)}
        left join messaging.logs l on l.id = q.recipient
        left join messaging.contacts c on c.owner = q.recipient and c.other = q.sender
        left join messaging.pending p
          on p.recipient = q.recipient and p.sender = q.sender and p.expires_at > now.seconds
        left join lateral messaging.find_message(q.reply_to) r
          on r.expires_at > now.seconds and not r.hidden
          and (r.sender, r.recipient) in ((q.sender, q.recipient), (q.recipient, q.sender))
        left join lateral messaging.find_message(q.thread_id) h
          on h.expires_at > now.seconds and not h.hidden
          and (h.sender, h.recipient) in ((q.sender, q.recipient), (q.recipient, q.sender))
        order by q.ord`,
      )
      return rows.map((row, index) => preflightOf(row, questions[index]))
    },
  })
}

function preflightOf(row: Row, question: PreflightQuestion | undefined): Preflight {
  const { identical, earlier_lane } = row
  return {
    earlier: identical === null || earlier_lane === null ? undefined : { isIdentical: identical, lane: earlier_lane },
    recipientRevoked: row.revoked ?? false,
    standing: { policy: row.policy ?? 'requests', contact: row.contact ?? 'none', pending: row.pending },
    standingVersion: row.standing_version ?? 0,
    replyTo: question?.replyTo == null ? undefined : { sameConversation: row.reply_found, root: false },
    thread: question?.threadId == null ? undefined : { sameConversation: row.thread_found, root: row.thread_root },
  }
}
