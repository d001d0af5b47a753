import type { Sql, Tx } from '@svc/postgres/database.ts'
import { nowSeconds } from '../clock.ts'

/** Locks expired messages until the transaction ends, oldest first. Skips rows that others have locked. @returns their ids. */
export async function lockExpired(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select m.id from messaging.messages m
    where m.expires_at <= ${nowSeconds(tx)}
    order by m.expires_at limit ${limit} for update skip locked`
  return rows.map((row) => row.id)
}

/**
 * Removes messages with all of their entries. The caller has locked them in an earlier statement, so this one sees promotions,
 * hiding and restoring from before the lock. A tombstone keeps the id taken (spec 7.4). It is written in the same transaction,
 * so an append sees either the message or the tombstone. Positions are not reused: the head of a log stays.
 */
export async function removeMessages(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx`
    with gone as materialized (
      select m.id, m.digest, m.sender, m.recipient, m.lane, m.position, m.request_position
      from messaging.messages m where m.id = any (${[...ids]}::text[])
    ), buried as (
      insert into messaging.tombstones (id, digest, sender, lane) select x.id, x.digest, x.sender, x.lane from gone x
    ), cut as (
      delete from messaging.entries e
      using (
        select x.recipient as log, x.lane as kind, x.position from gone x where x.lane <> 'board'
        union all
        select x.recipient, 'requests', x.request_position from gone x where x.request_position is not null
      ) x
      where e.log = x.log and e.kind = x.kind and e.position = x.position
    ), cut_posts as (
      delete from messaging.entries e using gone x where x.lane = 'board' and e.kind = 'board' and e.message = x.id
    )
    delete from messaging.messages m using gone x where m.id = x.id`
}

/** Removes at most `limit` votes for expired posts, purged or not. @returns how many. */
export async function purgeVotes(sql: Sql, limit: number): Promise<number> {
  const removed = await sql`
    with expired as materialized (
      select v.message, v.voter from messaging.votes v
      where v.expires_at <= ${nowSeconds(sql)}
      order by v.expires_at limit ${limit} for update skip locked
    )
    delete from messaging.votes v using expired x where v.message = x.message and v.voter = x.voter
    returning v.message`
  return removed.length
}

/** Removes at most `limit` requests that expired unanswered. @returns how many. */
export async function purgePending(sql: Sql, limit: number): Promise<number> {
  const removed = await sql`
    with expired as materialized (
      select p.recipient, p.sender from messaging.pending p
      where p.expires_at <= ${nowSeconds(sql)}
      order by p.expires_at limit ${limit} for update skip locked
    )
    delete from messaging.pending p using expired x where p.recipient = x.recipient and p.sender = x.sender
    returning p.recipient`
  return removed.length
}

/** Removes outbox rows that were published more than `keepSeconds` ago. They are no longer compared with JetStream. */
export async function purgeOutbox(sql: Sql, keepSeconds: number, limit: number): Promise<number> {
  const removed = await sql`
    with published as materialized (
      select o.id from messaging.outbox o
      where o.published_at < statement_timestamp() - make_interval(secs => ${keepSeconds})
      order by o.published_at limit ${limit} for update skip locked
    )
    delete from messaging.outbox o using published x where o.id = x.id returning o.id`
  return removed.length
}
