/** The part of a statement about new messages `q` (id, digest, sender) that looks up earlier messages with the same ids. */
import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'

/** Whether the earlier message is identical, and its lane; null if the id was never taken. A purged one is compared by its check. */
export function earlierColumns(sql: Sql): Fragment {
  return sql`
    coalesce(m.digest = decode(q.digest, 'hex') and m.sender = q.sender, x."check" = messaging.id_check(
      decode(q.digest, 'hex'), q.sender, (select s.secret from messaging.id_secret s)
    )) as identical,
    coalesce(m.lane, (array['inbox', 'requests', 'board'])[(x.place & 3)::integer + 1]) as earlier_lane`
}

export function earlierJoins(sql: Sql): Fragment {
  return sql`
    left join messaging.ids x on x.key = messaging.id_key(q.id, (select s.secret from messaging.id_secret s))
    left join lateral messaging.find_message(case when x.key is not null then q.id end) m on true`
}
