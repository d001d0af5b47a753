-- budget.refusal_of, revision 1
-- Whether an agent can pay for an operation. It pays with free units first and then with credits (spec 11.1), never past
-- the ceiling (spec 11.3). A first DM also needs an introduction, which credits do not buy (spec 11.4, 11.5). Every query
-- that may refuse calls this function.
--
-- In: the units of the operation; whether it needs a new introduction, because no other operation of its pair has counted
--   one; the agent's usage on the day of the operation; the operator's allowances.
-- Out: the first reason to refuse, in the order of spec 7.2: introduction_limit_reached, hard_limit_reached,
--   budget_exhausted. Null: it can pay.
-- Locks: none.
--
-- One expression, so that the planner inlines it into the calling statement.
create or replace function budget.refusal_of(
  units bigint,
  introduces boolean,
  used_units bigint,
  credits_drawn bigint,
  credit_balance bigint,
  used_introductions bigint,
  free_units bigint,
  hard_limit bigint,
  introduction_limit bigint
) returns text
language sql immutable as $$
  select case
    when introduces and used_introductions >= introduction_limit then 'introduction_limit_reached'
    when used_units + units > hard_limit then 'hard_limit_reached'
    when budget.credits_for(units, used_units, credits_drawn, free_units) > credit_balance then 'budget_exhausted'
  end
$$;

grant execute on function budget.refusal_of to budget;
