import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { Fragment } from 'postgres'

/** Where a message is stored (messaging.new_place). As text, because it is too large for a number. */
export type Place = string

/**
 * The message `m` that has an id. The place lets Postgres set up one partition instead of all. The id is compared too, because
 * the place was found by a hash.
 */
export function hasId(sql: Sql | Tx, id: string): Fragment {
  return sql`m.place = messaging.place_of(${id}) and m.id = ${id}`
}
