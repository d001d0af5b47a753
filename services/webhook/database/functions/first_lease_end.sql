-- webhook.first_lease_end, revision 1
-- Of the leases that a configuration has at a given time, when the first one ends.
--
-- In: the configuration; the time.
-- Out: the end of the lease; null if no job is leased.
-- Locks: none.
--
-- `offset 0` keeps the condition on the time out of the subquery. With the condition inside, the planner might use the
-- index of all waiting jobs instead.
create or replace function webhook.first_lease_end(of_configuration uuid, at timestamptz) returns timestamptz
language sql volatile as $$
  select min(l.due_at) from (
    select j.due_at from webhook.jobs j where j.configuration = of_configuration and j.lease is not null offset 0
  ) l where l.due_at > at
$$;

grant execute on function webhook.first_lease_end to webhook;
