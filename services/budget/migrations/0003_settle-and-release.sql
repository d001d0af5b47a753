-- How reservations end. Each of these may come any number of times, in any order, and for operations that are unknown
-- or ended long ago. What only tests a state compares it with a variable: a literal would let the planner take the partial
-- index of all held reservations for the way to a single one.

-- Makes held reservations final. Answers how many of the operations had been given back: always 0, unless an owner has
-- broken the protocol and done what it had given up. Not durable: a crash may undo it, and the owner settles again.
create function budget.settle(operations text[], durable boolean) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  held constant text := 'held';
  released constant text := 'released';
  settled bigint;
begin
  if durable then
    -- A commit record of its own, and with it all earlier ones, even where there is nothing left to do.
    perform pg_current_xact_id();
  else
    perform set_config('synchronous_commit', 'off', true);
  end if;

  -- Pairs change under the lock of their account alone, here as in reserve and release, so that no two batches wait for
  -- each other's pairs. Most operations introduce nobody and need no lock but their own.
  perform from budget.accounts a where a.agent_id = any (array(
    select r.agent_id from unnest(operations) as u (operation) join budget.reservations r on r.operation = u.operation
    where r.state = held and r.introduces
  )) order by a.agent_id for no key update;

  with ended as (
    update budget.reservations r set state = 'settled'
    from unnest(operations) as u (operation) where r.operation = u.operation and r.state = held
    returning r.agent_id, r.introduction_peer, r.introduces
  ), introduced as (
    update budget.introductions p set settled = true
    from ended e where e.introduces and p.agent_id = e.agent_id and p.peer = e.introduction_peer and not p.settled
  )
  select count(*) into settled from ended e;

  if settled = cardinality(operations) then
    return 0;
  end if;
  return (
    select count(*) from unnest(operations) as u (operation)
    join budget.reservations r on r.operation = u.operation where r.state = released
  );
end
$$;

-- Gives back what held reservations took, on the day it was taken, where no later attempt has taken their place. Not
-- durable either: what a crash undoes is held again, and its owner gives it back again. An operation occurs once.
create function budget.release(operations text[], deadlines_ms bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  held constant text := 'held';
  given record;
  pair record;
begin
  perform set_config('synchronous_commit', 'off', true);
  -- In key order, as reserve does. The agent of an operation never changes.
  perform from budget.accounts a where a.agent_id = any (array(
    select r.agent_id from unnest(operations) as u (operation) join budget.reservations r on r.operation = u.operation
    where r.state = held
  )) order by a.agent_id for no key update;

  for given in
    update budget.reservations r set state = 'released'
    from unnest(operations, deadlines_ms) as u (operation, deadline_ms)
    where r.operation = u.operation and r.state = held and r.deadline_ms <= u.deadline_ms
    returning r.agent_id, r.introduction_peer, r.day, r.units, r.credits, r.introduces
  loop
    perform budget.take_back(given.agent_id, given.day, given.units, given.credits, 0);
    if given.introduces then
      update budget.introductions p set holders = p.holders - 1
      where p.agent_id = given.agent_id and p.peer = given.introduction_peer and not p.settled
      returning p.day, p.holders into pair;
      -- The last operation that it stood on.
      if found and pair.holders = 0 then
        delete from budget.introductions p where p.agent_id = given.agent_id and p.peer = given.introduction_peer;
        perform budget.take_back(given.agent_id, pair.day, 0, 0, 1);
      end if;
    end if;
  end loop;
end
$$;

-- Lowers the counters of an agent's day, whether it is over or not. Under the lock of the account.
create function budget.take_back(agent text, on_day date, units bigint, credits bigint, introductions bigint)
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

grant execute on function budget.settle, budget.release, budget.take_back to budget;
