import { LIMITS } from '@svc/contracts/limits.ts'
import type { Sql } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'

/**
 * What every list of messages selects of `p`, its ordered candidates: domain/pages.ts, ListedRow. Envelopes are read only
 * while those before them leave room on a page: their sizes are known without reading them.
 * @param order the columns of `p` that order the list.
 */
export function listedColumns(sql: Sql, order: Fragment): Fragment {
  return sql`p.lane, p.accepted_at, p.expires_at, p.acked, case
    when coalesce(sum(octet_length(p.envelope)) over (order by ${order} rows between unbounded preceding and 1 preceding), 0)
      < ${LIMITS.pageBytes} then p.envelope end as envelope`
}
