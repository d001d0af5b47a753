import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Reference } from '../../domain/acceptance.ts'
import { nowSeconds } from '../clock.ts'
import { earlierColumns, earlierJoins } from './earlier.ts'

export interface PostQuestion {
  id: string
  /** SHA-256 of the JCS bytes, lower-case hex. */
  digest: string
  sender: string
  boardId: string
  replyTo: string | null
  threadId: string | null
}

/** What the database knows about a post before boards is asked. */
export interface PostPreflight {
  /** The message that has this id already, even if it was purged. */
  earlier: { isIdentical: boolean } | undefined
  /** Undefined if the envelope has no such reference. Only a live post of the same board counts that is not hidden or taken down (spec 6.9). */
  replyTo: Reference | undefined
  thread: Reference | undefined
}

interface Row {
  /** Null if the id is not taken. */
  identical: boolean | null
  reply_found: boolean
  thread_found: boolean
  thread_root: boolean
}

/** Answers concurrent questions with one statement. */
export function createPostPreflight(database: Database): Batcher<PostQuestion, PostPreflight> {
  return createBatcher({
    name: 'messaging.post-preflight',
    overloaded: () => new ServiceError('unavailable', { cause: new Error('too many posts are waiting to be checked') }),
    run: async (questions) => {
      const rows = await database.run(
        (sql) => sql<Row[]>`
        select
          ${earlierColumns(sql)},
          r.place is not null as reply_found,
          h.place is not null as thread_found,
          h.place is not null and h.thread_id is null as thread_root
        from unnest(
          ${questions.map((q) => q.id)}::text[], ${questions.map((q) => q.digest)}::text[],
          ${questions.map((q) => q.sender)}::text[], ${questions.map((q) => q.boardId)}::text[],
          ${questions.map((q) => q.replyTo)}::text[], ${questions.map((q) => q.threadId)}::text[]
        ) with ordinality as q (id, digest, sender, board, reply_to, thread_id, ord)
        ${earlierJoins(sql)}
        left join lateral messaging.find_message(q.reply_to) r
          on r.recipient = q.board and r.lane = 'board' and not r.hidden and r.expires_at > ${nowSeconds(sql)}
        left join lateral messaging.find_message(q.thread_id) h
          on h.recipient = q.board and h.lane = 'board' and not h.hidden and h.expires_at > ${nowSeconds(sql)}
        order by q.ord`,
      )
      return rows.map((row, index) => preflightOf(row, questions[index]))
    },
  })
}

function preflightOf(row: Row, question: PostQuestion | undefined): PostPreflight {
  return {
    earlier: row.identical === null ? undefined : { isIdentical: row.identical },
    replyTo: question?.replyTo == null ? undefined : { sameConversation: row.reply_found, root: false },
    thread: question?.threadId == null ? undefined : { sameConversation: row.thread_found, root: row.thread_root },
  }
}
