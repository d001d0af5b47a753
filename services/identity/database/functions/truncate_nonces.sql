-- identity.truncate_nonces, revision 1
-- Once in each slot, empties the partition that the next slot will write. Its nonces are too old to be looked up again.
-- It does nothing in the first minute of a slot, when a transaction of the previous slot may still read the partition.
-- It does nothing in the last minute either, so that it never empties the partition after the next slot has begun. For the
-- same reason it reads the clock again after it has waited for the lock.
--
-- In: `at` is for tests.
-- Out: whether there was anything to remove. Safe on many replicas: the second finds nothing to remove.
-- Locks: the partition (access exclusive), waited for 1 s at most.
create or replace function identity.truncate_nonces(at timestamptz default null) returns boolean
language plpgsql
set enable_seqscan = off
set lock_timeout = '1s' -- requests queue behind this lock, so the wait for it is short
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

grant execute on function identity.truncate_nonces to identity;
