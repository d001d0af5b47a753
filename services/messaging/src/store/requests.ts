import type { Tx } from '@svc/postgres/database.ts'
import { nowSeconds } from './clock.ts'

/**
 * Moves the unexpired pending request of `sender` into the inbox at `position`, so it is no longer pending. Its older entry
 * stays (spec 7.7). The caller holds the lock of the recipient's log, and `position` is the log's next one.
 * @returns whether there was a request.
 */
export async function promoteRequest(tx: Tx, recipient: string, sender: string, position: number): Promise<boolean> {
  const moved = await tx`
    with moved as (
      update messaging.messages m set lane = 'inbox', request_position = m.position, position = ${position}
      from messaging.pending p
      where p.recipient = ${recipient} and p.sender = ${sender} and m.id = p.message
        and m.lane = 'requests' and m.expires_at > ${nowSeconds(tx)}
      returning m.id, m.thread_id, m.expires_at
    ), entered as (
      insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
      select ${recipient}, 'inbox', ${position}, m.id, m.thread_id, m.expires_at from moved m
    ), answered as (
      delete from messaging.pending p using moved m
      where p.recipient = ${recipient} and p.sender = ${sender} and p.message = m.id
    )
    select m.id from moved m`
  return moved.length > 0
}
