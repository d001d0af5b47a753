/** Lets the lifetime of stored messages pass, so that a test of expiry does not wait for it. */
import { DEFAULTS } from '@svc/contracts/limits.ts'
import postgres, { type Sql } from 'postgres'

/**
 * Sets the expiry of these messages to one second ago. Their rows move to the partition that is emptied next. The next pass of the
 * purge deletes them, and no live message delays it.
 */
export async function expireMessages(sql: Sql, ids: readonly string[], retentionSeconds: number): Promise<void> {
  await sql`
    with past as materialized (
      select seconds - 1 as seconds, (messaging.slot_of(seconds, ${retentionSeconds}::float8) + 7) % 8 as slot
      from floor(extract(epoch from clock_timestamp())) f (now), lateral (select f.now::bigint as seconds) s
    ), moving as materialized (
      select i.key, i.place >> 2 as place, p.seconds,
        (p.slot::bigint << 56) | (p.seconds << 23) | ((i.place >> 2) & 8388607) as later
      from past p, messaging.id_secret s, unnest(${[...ids]}::text[]) u (id)
      join messaging.ids i on i.key = messaging.id_key(u.id, (select s.secret from messaging.id_secret s))
    ), messages as (
      update messaging.messages m set place = v.later, expires_at = v.seconds from moving v where m.place = v.place
    ), entries as (
      update messaging.entries e set message = v.later, expires_at = v.seconds from moving v where e.message = v.place
    ), votes as (
      update messaging.votes o set message = v.later from moving v where o.message = v.place
    ), pending as (
      update messaging.pending p set message = v.later, expires_at = v.seconds from moving v where p.message = v.place
    )
    update messaging.ids i set place = v.later << 2 | (i.place & 3) from moving v where i.key = v.key`
}

/** Does this in the database of a running system, whose messages are kept for the default time. */
export async function expireStored(adminUrl: string, ids: readonly string[]): Promise<void> {
  const sql = postgres(adminUrl, { max: 1 })
  await expireMessages(sql, ids, DEFAULTS.retentionDays * 86_400)
  await sql.end()
}
