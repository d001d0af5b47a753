-- budget.release, revision 2
-- Gives back the cost of held reservations to the day on which it was taken, unless a later attempt has taken the
-- reservation over. Idempotent. Ignores operations that are unknown or have ended.
--
-- In: parallel arrays: operations, each once, and the deadline of the attempt that is given up.
-- Out: nothing. Not durable: a crash may undo a release, and the owner then releases again.
-- Locks, in order: accounts of the held operations by agent_id (no key update). All other rows belong to these
--   accounts, so their order does not matter: the reservations, then for each of them its past day and its introduction.
--
-- The state is compared with a variable. With a literal, the planner might search the partial index of all held
-- reservations for a single one.
create or replace function budget.release(operations text[], deadlines_ms bigint[]) returns void
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
    perform budget.take_back(
      agent => given.agent_id, on_day => given.day, units => given.units, credits => given.credits, introductions => 0
    );
    if given.introduces then
      update budget.introductions p set holders = p.holders - 1
      where p.agent_id = given.agent_id and p.peer = given.introduction_peer and not p.settled
      returning p.day, p.holders into pair;
      -- No other operation shares the introduction.
      if found and pair.holders = 0 then
        delete from budget.introductions p where p.agent_id = given.agent_id and p.peer = given.introduction_peer;
        perform budget.take_back(
          agent => given.agent_id, on_day => pair.day, units => 0, credits => 0, introductions => 1
        );
      end if;
    end if;
  end loop;
end
$$;

grant execute on function budget.release to budget;
