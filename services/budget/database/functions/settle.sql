-- budget.settle, revision 1
-- Makes held reservations final. Idempotent. Ignores operations that are unknown or ended long ago.
--
-- In: operations. durable: whether the change is on disk when the call returns. Otherwise a crash may undo it, and the
--   owner settles again.
-- Out: how many of the operations had been released. Always 0, unless an owner has broken the protocol and committed an
--   operation that it had given up. Raises 40001 (serialization_failure) if an attempt moves a reservation to another
--   partition meanwhile. The caller retries.
-- Locks, in order: accounts of operations that introduce somebody, by agent_id (no key update), then reservations and
--   introductions.
--
-- The state is compared with a variable. With a literal, the planner might search the partial index of all held
-- reservations for a single one.
create or replace function budget.settle(operations text[], durable boolean) returns bigint
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
    -- A transaction with an id writes a commit record. It reaches the disk with all earlier ones, even if this call changes
    -- nothing.
    perform pg_current_xact_id();
  else
    perform set_config('synchronous_commit', 'off', true);
  end if;

  -- Pairs change only under the lock of their account, as in reserve and release, so that batches never deadlock on pairs.
  -- Most operations introduce nobody, and lock only their own reservation.
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

grant execute on function budget.settle to budget;
