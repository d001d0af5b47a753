import type { Sql } from '@svc/postgres/database.ts'
import { nowSeconds } from '../clock.ts'

export interface Purged {
  messages: number
  votes: number
  requests: number
  outbox_rows: number
  fences: number
  /** There are more expired rows. */
  more: boolean
}

/** Counting stops here. */
const COUNTED = 10_000

/** Counts the rows that a purge would remove now, up to 10,000 of each kind. */
export async function countExpired(sql: Sql): Promise<Purged> {
  const now = nowSeconds(sql)
  const [row] = await sql<Purged[]>`
    with counted as materialized (
      select
        (select count(*) from (select from messaging.messages m where m.expires_at <= ${now} limit ${COUNTED}) x) as messages,
        (select count(*) from (select from messaging.votes v where v.expires_at <= ${now} limit ${COUNTED}) x) as votes,
        (select count(*) from (select from messaging.pending p where p.expires_at <= ${now} limit ${COUNTED}) x) as requests,
        (
          select count(*) from (
            select from messaging.outbox o where o.published_at < statement_timestamp() - interval '1 day' limit ${COUNTED}
          ) x
        ) as outbox_rows,
        (
          select count(*) from (
            select from messaging.message_fences f where f.fenced_at < statement_timestamp() - interval '1 day' limit ${COUNTED}
          ) x
        ) as fences
    )
    select c.*, greatest(c.messages, c.votes, c.requests, c.outbox_rows, c.fences) = ${COUNTED} as more from counted c`
  if (row === undefined) throw new Error('an aggregate answers one row')
  return row
}
