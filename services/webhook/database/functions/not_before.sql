-- webhook.not_before, revision 1
-- When an endpoint is due: not before its pause ends.
--
-- In: when its jobs are due, null for never; the end of its pause, null for none.
-- Out: the later of the two; null if no job is due.
-- Locks: none.
create or replace function webhook.not_before(due timestamptz, pause_end timestamptz) returns timestamptz
language sql immutable as $$
  select case when due is not null then greatest(due, pause_end) end
$$;

grant execute on function webhook.not_before to webhook;
