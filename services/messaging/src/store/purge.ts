import type { Sql } from '@svc/postgres/database.ts'
import { nowSeconds } from './clock.ts'

/**
 * Removes expired messages with all of their entries, the oldest first; those that another process is removing are
 * skipped. A tombstone keeps the id taken (decisions 50), in the same transaction, so that an append sees one or the
 * other. Positions are not given again: a log's head stays.
 * @returns how many; `limit` of them at most.
 */
export async function purgeMessages(sql: Sql, limit: number): Promise<number> {
  const [purged] = await sql<{ count: number }[]>`
    with expired as materialized (
      select m.id, m.digest, m.sender, m.recipient, m.lane, m.position, m.request_position
      from messaging.messages m
      where m.expires_at <= ${nowSeconds(sql)}
      order by m.expires_at limit ${limit} for update skip locked
    ), buried as (
      insert into messaging.tombstones (id, digest, sender, lane) select x.id, x.digest, x.sender, x.lane from expired x
    ), cut as (
      delete from messaging.entries e
      using (
        select x.recipient as log, x.lane as kind, x.position from expired x
        union all
        select x.recipient, 'requests', x.request_position from expired x where x.request_position is not null
      ) x
      where e.log = x.log and e.kind = x.kind and e.position = x.position
    ), removed as (
      delete from messaging.messages m using expired x where m.id = x.id returning m.id
    )
    select count(*) as count from removed`
  return purged?.count ?? 0
}

/** Removes requests that were not answered before they expired. @returns how many; `limit` of them at most. */
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

/** Removes outbox rows that were published `keepSeconds` ago: JetStream is not asked for them any more. */
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
