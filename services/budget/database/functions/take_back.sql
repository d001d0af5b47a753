-- budget.take_back, revision 1
-- Lowers the counters of an agent's day, whether the day is over or not. Only budget.release calls it.
--
-- In: the agent, its day, and what to take from the three counters.
-- Out: nothing.
-- Locks: none. The caller holds the account.
create or replace function budget.take_back(agent text, on_day date, units bigint, credits bigint, introductions bigint)
returns void language plpgsql as $$
begin
  update budget.accounts a
  set credit_balance = a.credit_balance + credits,
    used_units = a.used_units - case when a.day = on_day then units else 0 end,
    credits_drawn = a.credits_drawn - case when a.day = on_day then credits else 0 end,
    used_introductions = a.used_introductions - case when a.day = on_day then introductions else 0 end
  where a.agent_id = agent;
  update budget.past_days d
  set used_units = d.used_units - units,
    credits_drawn = d.credits_drawn - credits,
    used_introductions = d.used_introductions - introductions
  where d.agent_id = agent and d.day = on_day;
end
$$;
