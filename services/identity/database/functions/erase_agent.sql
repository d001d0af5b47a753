-- identity.erase_agent, revision 1
-- Deletes the row of an agent, and keeps its id and its name from being given again. It runs with the rights of the migrating
-- role, because the service's login may not delete agents. It refuses an agent whose erasure has not come to its last step.
--
-- In: the agent.
-- Out: whether the row was there.
-- Locks: the row of the agent.
create or replace function identity.erase_agent(agent text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  agent_name text;
begin
  if not exists (select from identity.erasures e where e.agent_id = agent and e.step = 'finish') then
    raise exception 'the agent has no erasure that is about to finish';
  end if;
  delete from identity.agents a where a.agent_id = agent returning a.name into agent_name;
  if agent_name is null then
    return false;
  end if;
  insert into identity.erased (key)
  values (identity.tombstone_of('agent:' || agent)), (identity.tombstone_of('name:' || agent_name))
  on conflict (key) do nothing;
  return true;
end
$$;

revoke all on function identity.erase_agent from public;
grant execute on function identity.erase_agent to identity;
