-- messaging.slot_of, revision 1
-- The partition for rows that expire at a given time. Time is divided into periods of a sixth of the retention, and the
-- periods use the 8 partitions in turn. So 6 or 7 partitions hold live rows. A partition whose rows have expired has one
-- period in which it can be truncated before it is used again.
--
-- In: Unix seconds; the retention.
-- Out: 0 to 7.
-- Locks: none.
create or replace function messaging.slot_of(expires_at bigint, retention_seconds double precision) returns integer
language sql immutable as $$
  select (expires_at / greatest(ceil(retention_seconds / 6), 1)::bigint % 8)::integer
$$;

grant execute on function messaging.slot_of to messaging;
