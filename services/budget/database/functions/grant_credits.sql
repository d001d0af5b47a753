-- budget.grant_credits, revision 1
-- Issues credits once for each reference (spec 11.4).
--
-- In: the agent, how many credits, the operator's reference.
-- Out: outcome and the balance. granted; repeated (granted before with the same values, nothing changes); differs
--   (granted before with other values, refused).
-- Locks, in order: the grant's reference (its primary key), the account.
create or replace function budget.grant_credits(agent text, credits bigint, grant_reference text)
returns table (outcome text, credit_balance bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  -- Waits for another transaction that is granting the same reference.
  insert into budget.grants (reference, agent_id, units) values (grant_reference, agent, credits)
  on conflict (reference) do nothing;
  if found then
    return query
    insert into budget.accounts as a (agent_id, credit_balance) values (agent, credits)
    on conflict (agent_id) do update set credit_balance = a.credit_balance + excluded.credit_balance
    returning 'granted', a.credit_balance;
  else
    return query
    select case when g.agent_id = agent and g.units = credits then 'repeated' else 'differs' end,
      coalesce((select a.credit_balance from budget.accounts a where a.agent_id = agent), 0)
    from budget.grants g where g.reference = grant_reference;
  end if;
end
$$;

grant execute on function budget.grant_credits to budget;
