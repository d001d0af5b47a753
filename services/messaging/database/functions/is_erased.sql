-- messaging.is_erased, revision 1
-- Whether an agent was erased.
--
-- In: the agent id.
-- Out: whether it was erased.
-- Locks: none.
create or replace function messaging.is_erased(agent text) returns boolean
language sql stable as $$
  select exists (
    select from messaging.erased e where e.key = messaging.id_key(agent, (select s.secret from messaging.id_secret s))
  )
$$;

grant execute on function messaging.is_erased to messaging;
