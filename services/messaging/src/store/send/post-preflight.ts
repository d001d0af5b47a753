import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database } from '@svc/postgres/database.ts'
import type { Reference } from '../../domain/acceptance.ts'
import { nowSeconds } from '../clock.ts'

export interface PostQuestion {
  id: string
  boardId: string
  replyTo: string | null
  threadId: string | null
}

/** What the database knows about a post before boards is asked. */
export interface PostPreflight {
  /** The message that has this id already, even if it was purged. */
  earlier: { digest: string; sender: string } | undefined
  /** Undefined if the envelope has no such reference. Only a live post of the same board that is not hidden counts (spec 6.9). */
  replyTo: Reference | undefined
  thread: Reference | undefined
}

interface Row {
  earlier_digest: string | null
  earlier_sender: string | null
  reply_found: boolean
  thread_found: boolean
  thread_root: boolean
}

/** Answers concurrent questions with one statement. */
export function createPostPreflight(database: Database): Batcher<PostQuestion, PostPreflight> {
  return createBatcher({
    name: 'messaging.post-preflight',
    overloaded: () => new ServiceError('unavailable'),
    run: async (questions) => {
      const rows = await database.run(
        (sql) => sql<Row[]>`
        select
          coalesce(encode(m.digest, 'hex'), encode(t.digest, 'hex')) as earlier_digest,
          coalesce(m.sender, t.sender) as earlier_sender,
          r.id is not null as reply_found,
          h.id is not null as thread_found,
          h.id is not null and h.thread_id is null as thread_root
        from unnest(
          ${questions.map((q) => q.id)}::text[], ${questions.map((q) => q.boardId)}::text[],
          ${questions.map((q) => q.replyTo)}::text[], ${questions.map((q) => q.threadId)}::text[]
        ) with ordinality as q (id, board, reply_to, thread_id, ord)
        left join messaging.messages m on m.id = q.id
        left join messaging.tombstones t on t.id = q.id
        left join messaging.messages r
          on r.id = q.reply_to and r.recipient = q.board and r.lane = 'board' and not r.hidden and r.expires_at > ${nowSeconds(sql)}
        left join messaging.messages h
          on h.id = q.thread_id and h.recipient = q.board and h.lane = 'board' and not h.hidden and h.expires_at > ${nowSeconds(sql)}
        order by q.ord`,
      )
      return rows.map((row, index) => preflightOf(row, questions[index]))
    },
  })
}

function preflightOf(row: Row, question: PostQuestion | undefined): PostPreflight {
  const { earlier_digest: digest, earlier_sender: sender } = row
  return {
    earlier: digest === null || sender === null ? undefined : { digest, sender },
    replyTo: question?.replyTo == null ? undefined : { sameConversation: row.reply_found, root: false },
    thread: question?.threadId == null ? undefined : { sameConversation: row.thread_found, root: row.thread_root },
  }
}
