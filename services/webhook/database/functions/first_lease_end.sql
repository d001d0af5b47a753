-- webhook.first_lease_end, revision 1
-- When the first lease of a configuration ends that is good at a moment.
--
-- In: the configuration; the moment.
-- Out: the time; null if no job is held.
-- Locks: none.
--
-- `offset 0` keeps the condition of time apart: it would make the index of all waiting jobs look as good.
create or replace function webhook.first_lease_end(of_configuration uuid, at timestamptz) returns timestamptz
language sql volatile as $$
  select min(l.due_at) from (
    select j.due_at from webhook.jobs j where j.configuration = of_configuration and j.lease is not null offset 0
  ) l where l.due_at > at
$$;

grant execute on function webhook.first_lease_end to webhook;
