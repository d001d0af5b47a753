-- The nonces of signed requests, remembered for at least ten minutes (spec 3.7).
--
-- Time, by this server's clock, is cut into slots of 600 s, and each slot writes to one of three partitions in turn. A
-- request is new if its nonce is neither in its own slot nor in the one before, so a nonce is remembered for 10 to 20
-- minutes. The partition of the slot that comes next holds what nobody asks for any more; a loop truncates it. So storage
-- is bounded, nothing is ever deleted row by row, and nothing needs a vacuum.
create table identity.nonces (
  slot smallint not null, -- number of the slot modulo 3
  key uuid not null, -- 16 bytes of SHA-256 over agent id and nonce
  primary key (slot, key) -- admit
) partition by list (slot);
-- Rows are never updated or deleted, and gone before their transaction ids would matter.
create table identity.nonces_0 partition of identity.nonces for values in (0)
  with (autovacuum_enabled = false);
create table identity.nonces_1 partition of identity.nonces for values in (1)
  with (autovacuum_enabled = false);
create table identity.nonces_2 partition of identity.nonces for values in (2)
  with (autovacuum_enabled = false);

-- Consumes the nonce of each item, and says which had been consumed before and which agents are revoked, in one
-- transaction. Arrays run in parallel, one item at each index. It decides nothing.
--
-- The border of two slots: a transaction that read the clock just before it may still be under way just after it, and
-- what it inserts is then invisible to a look at the slot before. So in the first minute of a slot both slots are
-- written, and the unique index makes the two wait for each other; a transaction that began in a slot has ended a minute
-- after it, since statements are given up after seconds. Keys are inserted in order, of the older slot first, so batches
-- wait for each other and never in a circle.
--
-- `at` is for tests, which have no other way to be at a border; nobody else passes it.
-- replayed: indexes, from 0, of the items that are not the first with their nonce. revoked: agent ids.
create function identity.admit(
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
begin
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

-- Empties the partition that the next slot will write, once in a slot: what it holds is older than anybody asks for.
-- Not in the first minute, when a transaction of the slot before may still look there, and not in the last, so that it
-- cannot be late; the clock is read again after waiting for the lock, for the same reason. Safe on many replicas: the
-- second finds nothing to remove.
-- @returns whether there was anything to remove. `at` is for tests.
create function identity.truncate_nonces(at timestamptz default null) returns boolean
language plpgsql
set enable_seqscan = off
set lock_timeout = '1s' -- requests wait behind this lock, so it is not waited for long
as $$
declare
  seconds constant bigint := floor(extract(epoch from coalesce(at, clock_timestamp())));
  next_slot constant smallint := (seconds / 600 + 1) % 3;
  locked_at bigint;
begin
  if seconds % 600 not between 60 and 539
    or not exists (select from identity.nonces n where n.slot = next_slot) then
    return false;
  end if;
  execute format('lock table identity.nonces_%s in access exclusive mode', next_slot);
  locked_at := floor(extract(epoch from coalesce(at, clock_timestamp())));
  if locked_at / 600 <> seconds / 600 or locked_at % 600 > 539 then
    return false;
  end if;
  execute format('truncate identity.nonces_%s', next_slot);
  return true;
end
$$;

revoke all on identity.nonces, identity.nonces_0, identity.nonces_1, identity.nonces_2 from identity;
grant select, insert on identity.nonces to identity;
grant truncate on identity.nonces_0, identity.nonces_1, identity.nonces_2 to identity;
grant execute on function identity.admit, identity.truncate_nonces to identity;
