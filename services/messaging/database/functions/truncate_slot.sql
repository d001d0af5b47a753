-- messaging.truncate_slot, revision 1
-- Empties the partitions of a slot if everything in them has expired. Places are ordered by expiry, so the highest place
-- shows this. A transaction that is still adding rows keeps this function from getting the locks, so no row is lost.
--
-- In: the slot; the retention; the longest wait for each lock. After that it raises 55P03 (lock_not_available), and nothing
--   has changed. While it waits, every statement on the tables waits behind it.
-- Out: whether it emptied the slot. It never empties the slot of the current period. Otherwise messages with short
--   times to live would make it lock that slot again and again.
-- Locks, in order: the advisory lock of the slot (7305003, without waiting), then its three partitions (access
--   exclusive), then its row of messaging.slots.
create or replace function messaging.truncate_slot(
  slot_number integer, retention_seconds double precision, lock_wait_ms integer
) returns boolean language plpgsql as $$
declare
  now_seconds bigint := floor(extract(epoch from clock_timestamp()));
  newest text := format('select (max(m.place) >> 23) & 8589934591 from messaging.messages_%s m', slot_number);
  expires_at bigint;
begin
  if messaging.slot_of(now_seconds, retention_seconds) = slot_number then
    return false;
  end if;
  execute newest into expires_at;
  if expires_at is null or expires_at > now_seconds
    or not pg_catalog.pg_try_advisory_xact_lock(7305003, slot_number) then
    return false;
  end if;
  perform set_config('lock_timeout', lock_wait_ms::text, true);
  execute format(
    'lock table messaging.entries_%1$s, messaging.messages_%1$s, messaging.votes_%1$s in access exclusive mode', slot_number
  );
  -- A separate statement, so that its snapshot is taken after the locks are held.
  execute newest into expires_at;
  if expires_at is null or expires_at > now_seconds then
    return false;
  end if;
  execute format('truncate messaging.entries_%1$s, messaging.messages_%1$s, messaging.votes_%1$s', slot_number);
  update messaging.slots s set emptied_at = clock_timestamp() where s.slot = slot_number;
  return true;
end
$$;

grant execute on function messaging.truncate_slot to messaging;
