import { LIMITS } from '@svc/contracts/limits.ts'
import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'

/**
 * The columns that every list of messages selects from `p`, its ordered candidates (ListedRow in domain/pages.ts). An envelope
 * is read only if those before it leave room on the page. Postgres knows their sizes without reading them.
 * @param order the columns of `p` that order the list.
 */
export function listedColumns(sql: Sql, order: Fragment): Fragment {
  return sql`p.lane, p.accepted_at, p.expires_at, p.acked, case
    when coalesce(sum(octet_length(p.envelope)) over (order by ${order} rows between unbounded preceding and 1 preceding), 0)
      < ${LIMITS.pageBytes} then p.envelope end as envelope`
}
