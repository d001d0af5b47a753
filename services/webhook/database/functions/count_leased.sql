-- webhook.count_leased, revision 1
-- How many jobs of a configuration are leased at a given time.
--
-- In: the configuration; the time.
-- Out: their number.
-- Locks: none.
--
-- `offset 0` keeps the condition on the time out of the subquery. With the condition inside, the planner might use the
-- index of all waiting jobs instead.
create or replace function webhook.count_leased(of_configuration uuid, at timestamptz) returns bigint
language sql volatile as $$
  select count(*) from (
    select j.due_at from webhook.jobs j where j.configuration = of_configuration and j.lease is not null offset 0
  ) l where l.due_at > at
$$;

grant execute on function webhook.count_leased to webhook;
