-- messaging.first_head, revision 1
-- The head of a log that is opened now: 0, or above the cursors of the time that restores took back (raise_heads).
--
-- In: nothing.
-- Out: the sum of all raises.
-- Locks: none.
create or replace function messaging.first_head() returns bigint
language sql stable as $$
  select coalesce(sum(r.raised_by), 0)::bigint from messaging.raises r
$$;

grant execute on function messaging.first_head to messaging;
