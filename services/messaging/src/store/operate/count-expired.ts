import type { Sql } from '@svc/postgres/database.ts'
import { nowSeconds } from '../clock.ts'
import { SLOTS } from './purge.ts'

export interface Purged {
  /** Partitions of messages, entries and votes. */
  partitions: number
  requests: number
  fences: number
  /** There are more expired rows. */
  more: boolean
}

/** Counting stops here. */
const COUNTED = 10_000

/** Counts what a purge would remove now, up to 10,000 rows of each kind. */
export async function countExpired(sql: Sql, retentionSeconds: number): Promise<Purged> {
  const now = nowSeconds(sql)
  const [row] = await sql<Purged[]>`
    with counted as materialized (
      select
        (
          select count(*) from unnest(${[...SLOTS]}::integer[]) s (slot)
          where s.slot <> messaging.slot_of(${now}, ${retentionSeconds}::float8) and (
            select m.expires_at from messaging.messages m
            where m.place >= s.slot::bigint << 56 and m.place < (s.slot + 1)::bigint << 56
            order by m.place desc limit 1
          ) <= ${now}
        ) as partitions,
        (select count(*) from (select from messaging.pending p where p.expires_at <= ${now} limit ${COUNTED}) x) as requests,
        (
          select count(*) from (
            select from messaging.message_fences f where f.fenced_at < statement_timestamp() - interval '1 day' limit ${COUNTED}
          ) x
        ) as fences
    )
    select c.*, greatest(c.requests, c.fences) = ${COUNTED} as more from counted c`
  if (row === undefined) throw new Error('an aggregate answers one row')
  return row
}
