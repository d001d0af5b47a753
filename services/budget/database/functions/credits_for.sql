-- budget.credits_for, revision 1
-- How many credits an operation takes: what the free units that are left do not cover. Units that credits paid for have not
-- used the free allowance up: it is there again when an operation that had used it was given back.
--
-- In: the units of the operation; of the agent's day the units used and the credits drawn; the free units of a day.
-- Out: the credits.
-- Locks: none.
--
-- One expression, so that the planner puts it into the statement that asks.
create or replace function budget.credits_for(units bigint, used_units bigint, credits_drawn bigint, free_units bigint)
returns bigint
language sql immutable as $$
  select greatest(units - greatest(free_units - (used_units - credits_drawn), 0), 0)
$$;

grant execute on function budget.credits_for to budget;
