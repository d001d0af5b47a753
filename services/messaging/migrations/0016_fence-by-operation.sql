-- A fence locks the operations that it names, and never waits for one: an append that is under way is asked about again. So a
-- fence holds up no append of another operation (docs/adr/0014-locks-are-not-waited-for-long.md).

-- Appends that began before 0015_append-within.sql hold this lock and none of their operations: they end first. Those that begin
-- from now on hold both, so that they exclude fences of either kind.
select pg_catalog.pg_advisory_xact_lock(7305001);

-- Says of message operations whether they were committed, and makes every 'no' final: an append of that operation whose
-- reservation ends at or before `through` is refused from then on. Null: an append of the operation is under way at this
-- moment, and nothing is known or changed. An operation occurs once.
-- Locks: the operations (7305002, exclusive), without waiting.
create function messaging.fence_appends(operations text[], ids text[], digests text[], throughs_ms bigint[])
returns table (ord bigint, committed boolean) language plpgsql as $$
#variable_conflict use_column
declare
  -- Of the operations, in order: nobody appends it now.
  held boolean[] := array(
    select pg_catalog.pg_try_advisory_xact_lock(7305002, hashtext(o.id))
    from unnest(operations) with ordinality as o (id, ord) order by o.ord
  );
begin
  -- A statement of its own: its snapshot is younger than the locks.
  return query
  with judged as (
    select i.ord, i.operation, i.through_ms, i.held, m.id is not null or t.id is not null as committed
    from unnest(operations, ids, digests, throughs_ms, held)
      with ordinality as i (operation, id, digest, through_ms, held, ord)
    left join messaging.messages m on m.id = i.id and m.digest = decode(i.digest, 'hex')
    left join messaging.tombstones t on t.id = i.id and t.digest = decode(i.digest, 'hex')
  ), fenced as (
    insert into messaging.message_fences (operation, through_ms)
    select j.operation, j.through_ms from judged j where j.held and not j.committed
    on conflict (operation) do update set through_ms = greatest(messaging.message_fences.through_ms, excluded.through_ms)
  )
  -- A message that is there was committed, whoever appends it now.
  select j.ord, case when j.held or j.committed then j.committed end from judged j;
end
$$;

-- The name that the release before calls. It takes an answer for each operation, or an error after which it asks again.
create or replace function messaging.fence_messages(operations text[], ids text[], digests text[], throughs_ms bigint[])
returns table (ord integer, committed boolean) language plpgsql as $$
#variable_conflict use_column
begin
  for ord, committed in
    select f.ord, f.committed from messaging.fence_appends(operations, ids, digests, throughs_ms) f
  loop
    if committed is null then
      raise exception 'an append of the operation is under way' using errcode = '55P03';
    end if;
    return next;
  end loop;
end
$$;

grant execute on function messaging.fence_appends to messaging;
