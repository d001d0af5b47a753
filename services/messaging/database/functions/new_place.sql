-- messaging.new_place, revision 1
-- A place for a new message: 5 bits for its partition, 33 for the second in which it expires, and 23 that rise in the order
-- of acceptance. So one number finds the partition and the row, and the places in a partition are ordered by expiry.
--
-- In: when the message expires; the retention.
-- Out: the place. It is already taken if the message 8,388,608 places earlier expires in the same second. Then the primary
--   key refuses it, and the caller tries again.
-- Locks: none.
create or replace function messaging.new_place(expires_at bigint, retention_seconds double precision) returns bigint
language sql volatile as $$
  -- All of these operators have the same precedence.
  select (messaging.slot_of(expires_at, retention_seconds)::bigint << 56) | (expires_at << 23) | nextval('messaging.places')
$$;

grant execute on function messaging.new_place to messaging;
