-- Message operations that were given up, and through which deadline. A message's own row is the record that it was
-- committed; other operations are recorded in messaging.operations.
create table messaging.message_fences (
  operation text collate "C" primary key, -- append, fence_messages
  through_ms bigint not null,
  fenced_at timestamptz not null default clock_timestamp()
);
create index message_fences_age on messaging.message_fences (fenced_at); -- purge
grant select, insert, update, delete on messaging.message_fences to messaging;

-- Says of message operations whether they were committed, and makes every 'no' final: an append of that operation whose
-- reservation ends at or before `through` is refused from then on (ADR 21).
create function messaging.fence_messages(operations text[], ids text[], digests text[], throughs_ms bigint[])
returns table (ord integer, committed boolean) language plpgsql as $$
#variable_conflict use_column
begin
  -- Appends hold this lock shared until they have committed or not: what is not there now will be refused. They never wait long
  -- for this, and it does not wait long for one that hangs: it is tried again later.
  set local lock_timeout = '1s';
  perform pg_catalog.pg_advisory_xact_lock(7305001);
  return query
  with item as (
    select u.*, decode(u.digest_hex, 'hex') as digest
    from unnest(operations, ids, digests, throughs_ms) with ordinality as u (operation, id, digest_hex, through_ms, ord)
  ), judged as (
    select i.*, m.id is not null or t.id is not null as committed
    from item i
    left join messaging.messages m on m.id = i.id and m.digest = i.digest
    left join messaging.tombstones t on t.id = i.id and t.digest = i.digest
  ), fenced as (
    insert into messaging.message_fences (operation, through_ms)
    select j.operation, j.through_ms from judged j where not j.committed
    on conflict (operation) do update set through_ms = greatest(messaging.message_fences.through_ms, excluded.through_ms)
  )
  select j.ord::integer, j.committed from judged j order by j.ord;
end
$$;

grant execute on function messaging.fence_messages to messaging;
