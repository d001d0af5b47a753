-- webhook.advance, revision 1
-- Raises the position in each log up to which every inbox entry has a job or needs none (ADR 13). It raises a position only
-- if the configuration is still set and the position is still the one at which the caller began. So if two callers have
-- read the same entries, only one of them makes jobs.
--
-- In: parallel arrays, one endpoint at each index.
-- Out: the agents whose positions were raised. Their endpoints stay locked until the transaction ends.
-- Locks: endpoints by agent_id (no key update).
create or replace function webhook.advance(agents text[], configurations uuid[], froms bigint[], tos bigint[])
returns table (agent_id text)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from webhook.endpoints e where e.agent_id = any (agents) order by e.agent_id for no key update;

  return query
    update webhook.endpoints e set reconciled = u.reached
    from unnest(agents, configurations, froms, tos) as u (agent, configuration, began, reached)
    where e.agent_id = u.agent and e.configuration = u.configuration
      and u.began = greatest(e.after_cursor, e.reconciled)
    returning e.agent_id;
end
$$;

grant execute on function webhook.advance to webhook;
