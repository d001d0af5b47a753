/** Postgres's own statistics, and the sizes of its tables. */
import type { Sql } from 'postgres'

export interface ServerCounts {
  readonly walBytes: number
  /** WAL bytes of full pages. A page is logged in full at its first change after a checkpoint. */
  readonly fullPageBytes: number
  /** Checkpoints since the server was started. */
  readonly checkpoints: number
  readonly deadRows: number
  /** Bytes of all tables with their indexes. */
  readonly bytes: number
  /** Partitions of messages whose rows have all expired, and that are not emptied yet. */
  readonly overdue: number
}

/** A table without its indexes, or an index. Partitions count as their parent. */
export interface Relation {
  readonly name: string
  readonly bytes: number
}

const PAGE_BYTES = 8_192
const SCHEMAS = ['identity', 'messaging', 'boards', 'budget', 'stream', 'webhook']

/** Sums and counts come as text, because they may not fit into a number. */
type Counted<T> = { [Name in keyof T]: string }

export async function diskOf(sql: Sql): Promise<ServerCounts> {
  const [row] = await sql<[Counted<ServerCounts>]>`
    select w.wal_bytes as "walBytes", w.wal_fpi * ${PAGE_BYTES}::bigint as "fullPageBytes",
      c.num_done as checkpoints, t.dead as "deadRows", t.bytes,
      (select count(*) from generate_series(0, 7) as s (slot)
        cross join lateral (
          select max(m.place) as newest from messaging.messages m
          where m.place >= s.slot::bigint << 56 and m.place < (s.slot + 1)::bigint << 56
        ) p
        -- the expiry, in Unix seconds (messaging.new_place)
        where (p.newest >> 23) & 8589934591 <= extract(epoch from now())) as overdue
    from pg_stat_wal w, pg_stat_checkpointer c, (
      select sum(n_dead_tup) as dead, sum(pg_total_relation_size(relid)) as bytes
      from pg_stat_user_tables where schemaname = any (${SCHEMAS})
    ) t`
  return {
    walBytes: Number(row.walBytes),
    fullPageBytes: Number(row.fullPageBytes),
    checkpoints: Number(row.checkpoints),
    deadRows: Number(row.deadRows),
    bytes: Number(row.bytes),
    overdue: Number(row.overdue),
  }
}

export async function relationsOf(sql: Sql): Promise<Relation[]> {
  const rows = await sql<{ name: string; bytes: string }[]>`
    select n.nspname || '.' || coalesce(p.relname, c.relname) as name, sum(pg_relation_size(c.oid)) as bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
    where c.relkind in ('r', 'i') and n.nspname = any (${SCHEMAS}) group by 1`
  return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) }))
}
