import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'

/**
 * Unix seconds by the database's clock when the statement began. What has `expires_at` at or below it is gone on every
 * path at once (spec 6.8). The same all through a statement, so that an index can be searched for it.
 */
export function nowSeconds(sql: Sql | Tx): Fragment {
  return sql`floor(extract(epoch from statement_timestamp()))::bigint`
}
