-- budget.truncate_reservations, revision 1
-- Empties a partition of reservations, if none of them is held and all of them ended long enough ago. Their cost stays
-- counted in the accounts.
--
-- In: the slot; kept_ms: how long a reservation is kept after its deadline; lock_wait_ms: how long it waits at most for
--   the partition. Past that it raises 55P03 (lock_not_available), and nothing has changed; meanwhile every statement on
--   the table waits behind it.
-- Out: whether there was something to remove.
-- Locks: the partition (access exclusive).
create or replace function budget.truncate_reservations(slot_number integer, kept_ms bigint, lock_wait_ms integer)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
declare
  -- The latest deadline; null: the partition is empty, or something in it is held. Both parts read one index entry.
  newest constant text := format(
    $query$
      select max(r.deadline_ms) from budget.reservations_%1$s r
      where r.state <> 'held' and not exists (select from budget.reservations_%1$s h where h.state = 'held')
    $query$, slot_number
  );
  oldest_kept_ms constant bigint := floor(extract(epoch from clock_timestamp()) * 1000) - kept_ms;
  newest_ms bigint;
begin
  execute newest into newest_ms;
  if newest_ms is null or newest_ms >= oldest_kept_ms then
    return false;
  end if;
  perform set_config('lock_timeout', lock_wait_ms::text, true);
  execute format('lock table budget.reservations_%s in access exclusive mode', slot_number);
  -- A statement of its own: its snapshot is younger than the lock.
  execute newest into newest_ms;
  if newest_ms is null or newest_ms >= oldest_kept_ms then
    return false;
  end if;
  execute format('truncate budget.reservations_%s', slot_number);
  return true;
end
$$;

grant execute on function budget.truncate_reservations to budget;
