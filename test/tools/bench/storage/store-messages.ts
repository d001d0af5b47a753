import type postgres from 'postgres'

/** Ids of agents and of a board. */
interface Who {
  readonly reader: string
  readonly writer: string
  readonly board: string
}

const RETENTION_SECONDS = 30 * 86_400
const CHUNK = 100_000

/**
 * Stores messages up to this number: half to the reader, a tenth as posts on the board that it subscribes to, the others
 * between thousands of other agents. A third of the reader's messages are acknowledged.
 */
export async function storeMessages(sql: postgres.Sql, who: Who, total: number): Promise<void> {
  await sql`
    insert into messaging.logs (id) select 'other-' || n from generate_series(0, 4999) n
    union all select ${who.reader} union all select ${who.board} on conflict do nothing`
  const [found] = await sql<{ count: string }[]>`select count(*) from messaging.messages`
  const begin = Number(found?.count ?? 0)
  for (let from = begin; from < total; from += CHUNK) {
    await sql`
      with numbered as (
        select n, case when n % 10 < 5 then 'inbox' when n % 10 = 5 then 'board' else 'other' end as kind
        from generate_series(${from}::int, ${Math.min(from + CHUNK, total) - 1}::int) n
      ), drawn as (
        select n, kind, 'stored-' || n as id,
          case kind when 'inbox' then ${who.reader}::text when 'board' then ${who.board} else 'other-' || n % 5000 end as recipient
        from numbered
      ), placed as materialized (
        select d.*, messaging.new_place(expiry, ${RETENTION_SECONDS}) as place, expiry, l.head + row_number() over (partition by d.recipient order by d.n) as position
        from drawn d join messaging.logs l on l.id = d.recipient
        -- Later messages expire later, spread over the whole retention, so they fill every partition that is in use.
        cross join lateral (
          select (extract(epoch from now()) + 600 + d.n::float8 / ${total} * (${RETENTION_SECONDS} - 600))::bigint as expiry
        ) x
      ), messages as (
        insert into messaging.messages (place, id, digest, sender, recipient, lane, position, envelope, accepted_at, expires_at, acked,
          batch, ordinal)
        select p.place, p.id, sha256(p.id::bytea), ${who.writer}, p.recipient, case when p.kind = 'board' then 'board' else 'inbox' end,
          p.position, '{"id":"' || p.id || '","from":"' || ${who.writer}::text || '","body":"' || repeat('x', 200) || '"}',
          extract(epoch from now())::bigint, p.expiry, p.n % 3 = 0,
          pg_current_xact_id()::text::bigint, p.n
        from placed p
      ), ids as (
        insert into messaging.ids (key, "check", place)
        select messaging.id_key(p.id, s.secret), messaging.id_check(sha256(p.id::bytea), ${who.writer}, s.secret),
          p.place << 2 | case when p.kind = 'board' then 2 else 0 end
        from placed p cross join messaging.id_secret s
      ), entries as (
        insert into messaging.entries (log, kind, position, message, expires_at)
        select p.recipient, case when p.kind = 'board' then 'board' else 'inbox' end, p.position, p.place, p.expiry
        from placed p
      )
      update messaging.logs l set head = n.head
      from (select p.recipient, max(p.position) as head from placed p group by p.recipient) n where l.id = n.recipient`
  }
  await sql.unsafe('vacuum analyze messaging.messages, messaging.entries, messaging.ids, messaging.logs')
}
