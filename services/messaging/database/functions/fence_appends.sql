-- messaging.fence_appends, revision 1
-- Returns whether each message operation was committed, and makes every 'no' final. From then on, an append of the operation
-- is refused if its reservation ends at or before `through` (ADR 14, ADR 21).
--
-- In: parallel arrays, one operation at each index. An operation occurs once.
-- Out: a row for each operation. committed is null if the operation is being appended at this moment. Then its outcome is
--   not known, and nothing is changed.
-- Locks, in order: the operations (7305002, exclusive, without waiting), then rows of message_fences.
create or replace function messaging.fence_appends(operations text[], ids text[], digests text[], throughs_ms bigint[])
returns table (ord bigint, committed boolean) language plpgsql as $$
#variable_conflict use_column
declare
  -- For each operation, in order: whether this call got its lock, so that no append of it is in progress.
  held boolean[] := array(
    select pg_catalog.pg_try_advisory_xact_lock(7305002, hashtext(o.id))
    from unnest(operations) with ordinality as o (id, ord) order by o.ord
  );
  secret bytea;
begin
  select s.secret into secret from messaging.id_secret s;
  -- A separate statement, so that its snapshot is taken after the locks are held.
  return query
  with judged as (
    select i.ord, i.operation, i.through_ms, i.held, x.key is not null as committed
    from unnest(operations, ids, digests, throughs_ms, held)
      with ordinality as i (operation, id, digest, through_ms, held, ord)
    left join messaging.ids x on x.key = messaging.id_key(i.id, secret)
      and x."check" >> 24 = messaging.id_check(decode(i.digest, 'hex'), '', secret) >> 24
  ), fenced as (
    insert into messaging.message_fences (operation, through_ms)
    select j.operation, j.through_ms from judged j where j.held and not j.committed
    on conflict (operation) do update set through_ms = greatest(messaging.message_fences.through_ms, excluded.through_ms)
  )
  -- A message that exists was committed, even if another attempt at it is in progress.
  select j.ord, case when j.held or j.committed then j.committed end from judged j;
end
$$;

grant execute on function messaging.fence_appends to messaging;
