-- budget.credits_for, revision 1
-- How many credits an operation costs: the units that the remaining free units do not cover. Units paid with credits do not
-- use up the free allowance. So if an operation that used free units is released, those free units are available again.
--
-- In: the units of the operation; the units used and credits drawn on the agent's day; the free units of a day.
-- Out: the credits.
-- Locks: none.
--
-- One expression, so that the planner inlines it into the calling statement.
create or replace function budget.credits_for(units bigint, used_units bigint, credits_drawn bigint, free_units bigint)
returns bigint
language sql immutable as $$
  select greatest(units - greatest(free_units - (used_units - credits_drawn), 0), 0)
$$;

grant execute on function budget.credits_for to budget;
