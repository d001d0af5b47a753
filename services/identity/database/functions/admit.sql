-- identity.admit, revision 1
-- Consumes the nonce of each item, and says which nonces had been consumed before and which agents are revoked, in one
-- transaction. It decides nothing.
--
-- In: parallel arrays, one item at each index. `at` is for tests, which cannot otherwise reach the border of two slots.
-- Out: replayed: indexes, from 0, of the items that are not the first with their nonce. revoked: agent ids.
-- Locks, in order: the partitions of both slots (row exclusive; the previous slot first), then the keys in their order.
--
-- At the border of two slots, a transaction that read the clock before the border may still be open after it. Its
-- inserts are then invisible to a query of the previous slot. So in the first minute of a slot both slots are written,
-- and the unique index makes the two transactions wait for each other. One minute is enough, because statements time
-- out after seconds. Keys are inserted in order, those of the older slot first, so batches never deadlock.
create or replace function identity.admit(
  agents text[],
  keys uuid[],
  at timestamptz default null,
  out replayed integer[],
  out revoked text[]
) language plpgsql
-- The plans below must not depend on how full the partitions were when a connection first made them.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  seconds constant bigint := floor(extract(epoch from coalesce(at, clock_timestamp())));
  slot_number constant bigint := seconds / 600;
  this_slot constant smallint := slot_number % 3;
  slot_before constant smallint := (slot_number + 2) % 3;
  known_before uuid[];
  is_known boolean;
begin
  -- The short path for a single nonce (ADR 10), which needs fewer lookups. A service that keeps up mostly gets such calls.
  if cardinality(keys) = 1 and seconds % 600 >= 60 then
    -- Read the previous slot before the insert, as below. A transaction that has inserted must not wait for a partition,
    -- because truncate_nonces may be waiting for the lock of one.
    select
      exists (select from identity.nonces n where n.slot = slot_before and n.key = keys[1]),
      array(select a.agent_id from identity.agents a where a.agent_id = agents[1] and a.revoked)
    into is_known, revoked;
    insert into identity.nonces (slot, key) values (this_slot, keys[1]) on conflict do nothing;
    replayed := case when found and not is_known then '{}' else '{0}' end;
    return;
  end if;

  if seconds % 600 < 60 then
    with kept as (
      insert into identity.nonces (slot, key) select slot_before, k.key from unnest(keys) as k (key) order by k.key
      on conflict do nothing
      returning nonces.key
    )
    select array_agg(k.key) into known_before from unnest(keys) as k (key)
    where k.key not in (select kept.key from kept);
  else
    select array_agg(n.key) into known_before from identity.nonces n where n.slot = slot_before and n.key = any (keys);
  end if;

  with kept as (
    insert into identity.nonces (slot, key) select this_slot, k.key from unnest(keys) as k (key) order by k.key
    on conflict do nothing
    returning nonces.key
  )
  select coalesce(array_agg(i.ord - 1 order by i.ord), '{}') into replayed
  from (
    select k.key, k.ord, row_number() over (partition by k.key order by k.ord) as nth
    from unnest(keys) with ordinality as k (key, ord)
  ) i
  where i.nth > 1 or i.key = any (known_before) or i.key not in (select kept.key from kept);

  select coalesce(array_agg(a.agent_id), '{}') into revoked
  from identity.agents a where a.agent_id = any (agents) and a.revoked;
end
$$;

grant execute on function identity.admit to identity;
