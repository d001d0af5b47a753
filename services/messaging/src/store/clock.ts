import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'

/**
 * Unix seconds by the database's clock when the statement began. A row with `expires_at` at or below it is gone, on every path
 * at once (spec 6.8). The value is constant within a statement, so the planner can use it to search an index.
 */
export function nowSeconds(sql: Sql | Tx): Fragment {
  return sql`floor(extract(epoch from statement_timestamp()))::bigint`
}
