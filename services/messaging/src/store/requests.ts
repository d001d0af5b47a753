import type { Tx } from '@svc/postgres/database.ts'
import { nowSeconds } from './clock.ts'
import type { Place } from './place.ts'

/**
 * Moves the unexpired pending request of `sender` into the inbox at `position`, so it is no longer pending. Its older entry
 * stays (spec 7.7). The caller holds the lock of the recipient's log, and `position` is the log's next one.
 *
 * The request is looked up first, because an update sets up all partitions unless it gets the place as a parameter.
 * @returns whether there was a request.
 */
export async function promoteRequest(tx: Tx, recipient: string, sender: string, position: number): Promise<boolean> {
  const [pending] = await tx<{ place: Place }[]>`
    select p.message::text as place from messaging.pending p where p.recipient = ${recipient} and p.sender = ${sender}`
  if (pending === undefined) return false
  const { place } = pending
  const moved = await tx`
    with moved as (
      update messaging.messages m set lane = 'inbox', request_position = m.position, position = ${position}
      where m.place = ${place}::bigint and m.lane = 'requests' and m.expires_at > ${nowSeconds(tx)}
      returning m.id, m.place, m.thread_id, m.expires_at
    ), entered as (
      insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
      select ${recipient}, 'inbox', ${position}, m.place, m.thread_id, m.expires_at from moved m
    ), answered as (
      delete from messaging.pending p using moved m
      where p.recipient = ${recipient} and p.sender = ${sender} and p.message = m.place
    ), known as (
      -- The answer to a retry names the lane, even after the message was purged.
      update messaging.ids i set place = m.place << 2
      from moved m where i.key = messaging.id_key(m.id, (select s.secret from messaging.id_secret s))
    )
    select from moved`
  return moved.length > 0
}
