/** Queries of `svc admin outbox`, by which the operator inspects and republishes outbox rows. */
import type { OutboxEntry } from '@svc/contracts/admin.ts'
import type { Sql } from '@svc/postgres/database.ts'

const ENTRY = `o.id, cardinality(o.positions) as events, extract(epoch from o.created_at)::float8 as created_at,
  extract(epoch from o.published_at)::float8 as published_at, o.epoch, o.last_sequence`

/** The newest rows below `before`. */
export async function listOutbox(sql: Sql, before: number | null, limit: number): Promise<OutboxEntry[]> {
  if (limit === 0) return []
  return sql<OutboxEntry[]>`
    select ${sql.unsafe(ENTRY)} from messaging.outbox o
    where ${before}::bigint is null or o.id < ${before} order by o.id desc limit ${limit}`
}

/** The oldest unpublished row and the number of unpublished rows. They have their own index. */
export async function findUnpublished(sql: Sql): Promise<{ count: number; oldest: OutboxEntry | null }> {
  const [counted] = await sql<{ count: number }[]>`
    select count(*) as count from messaging.outbox o where o.published_at is null`
  const [oldest] = await sql<OutboxEntry[]>`
    select ${sql.unsafe(ENTRY)} from messaging.outbox o where o.published_at is null order by o.created_at limit 1`
  return { count: counted?.count ?? 0, oldest: oldest ?? null }
}

interface Requeue {
  from: number
  to: number
  limit: number
  dryRun: boolean
}

interface Requeued {
  rows: number
  events: number
  /** The last row that was looked at. */
  last: number | null
}

/** Makes published rows of a range due again, in id order. Skips rows that are due already. */
export async function requeueRange(sql: Sql, { from, to, limit, dryRun }: Requeue): Promise<Requeued> {
  const [row] = await sql<Requeued[]>`
    with page as materialized (
      select o.id, cardinality(o.positions) as events from messaging.outbox o
      where o.id between ${from} and ${to} and o.published_at is not null order by o.id limit ${limit}
    ), due as (
      update messaging.outbox o
      set published_at = null, epoch = null, last_sequence = null, leased_until = '-infinity'
      from page p where not ${dryRun}::boolean and o.id = p.id and o.published_at is not null
    )
    select count(*) as rows, coalesce(sum(p.events), 0)::bigint as events, max(p.id) as last from page p`
  if (row === undefined) throw new Error('an aggregate answers one row')
  return row
}
