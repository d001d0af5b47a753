-- budget.reserve, revision 5
-- Reserves the cost of a batch of operations in one call and one transaction. An agent occurs once in a batch.
--
-- In: parallel arrays, one item at each index; the operator's allowances; `at` replaces the clock in tests (null: the
--   database's clock, read once the locks are held).
-- Out: a row for each item. deadline_ms is the deadline of this attempt, later than those of all earlier attempts. For
--   `settled` and `other_price` it is the deadline of the previous attempt.
--   outcome: taken.
--     held: an earlier attempt has reserved it, and this attempt takes the reservation over.
--     other_price: an earlier attempt holds it at another price. Its outcome is open until that attempt has ended.
--     settled: an earlier attempt has completed it, at whatever price. Nothing is taken.
--     differs: reserved before for another agent, owner or peer, which is a bug in its owner.
--     introduction_limit_reached, hard_limit_reached, budget_exhausted: refused, and nothing is stored.
--   No rows, and nothing is taken: an agent has no account yet. The caller opens it (openAccounts) and calls again.
--   Opening it here, while other accounts are locked, would take locks out of order.
-- Locks, in order: accounts by agent_id (no key update), then past days, reservations and introductions of these
--   accounts.
--
-- The price may change between attempts, because the price of a post depends on its subscribers when it is judged (spec 8.8).
--
-- Every lookup compares all columns of one index, and the settings below make the planner do so. A connection plans each statement once,
-- perhaps while the tables are still empty. Without the settings, such a plan would read whole tables until the connection
-- ends.
create or replace function budget.reserve(
  operations text[],
  owners text[],
  agents text[],
  costs bigint[],
  peers text[],
  holds_ms bigint[],
  free_units bigint,
  hard_limit bigint,
  introduction_limit bigint,
  at timestamptz default null
) returns table (ord integer, outcome text, deadline_ms bigint, now_ms bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  account record;
  locked bigint;
  oldest date;
  instant timestamptz;
  instant_ms bigint;
  -- The partition of now. Each of the 3 is written for 15 hours in turn.
  this_slot smallint;
  today date;
begin
  -- The short path for the usual case (ADR 10): one operation, never reserved before and within the free units. If it has a peer,
  -- the introduction of the pair is settled. The general path below handles every other case.
  if cardinality(operations) = 1 then
    select a.day, a.used_units, a.credits_drawn into account from budget.accounts a where a.agent_id = agents[1] for no key update;
    if not found then
      return;
    end if;
    instant := coalesce(at, clock_timestamp());
    instant_ms := floor(extract(epoch from instant) * 1000);
    this_slot := instant_ms / 54000000 % 3;
    if account.day >= (instant at time zone 'UTC')::date
      -- With no credits and no introductions, so that only an operation within the free units passes.
      and budget.refusal_of(
        units => costs[1],
        introduces => false,
        used_units => account.used_units,
        credits_drawn => account.credits_drawn,
        credit_balance => 0,
        used_introductions => 0,
        free_units => free_units,
        hard_limit => hard_limit,
        introduction_limit => 0
      ) is null then
      insert into budget.reservations
        (operation, slot, state, owner, agent_id, units, introduction_peer, deadline_ms, day, credits, introduces)
      select operations[1], this_slot, 'held', owners[1], agents[1], costs[1], peers[1], instant_ms + holds_ms[1], account.day, 0,
        false
      where not exists (select from budget.reservations r where r.operation = operations[1])
        and (peers[1] is null or exists (
          select from budget.introductions p where p.agent_id = agents[1] and p.peer = peers[1] and p.settled
        ));
      if found then
        update budget.accounts a set used_units = a.used_units + costs[1] where a.agent_id = agents[1];
        ord := 1;
        outcome := 'taken';
        deadline_ms := instant_ms + holds_ms[1];
        now_ms := instant_ms;
        return next;
        return;
      end if;
    end if;
  end if;

  -- In key order, so that batches never deadlock.
  select count(*), min(l.day) into locked, oldest from (
    select a.day from budget.accounts a where a.agent_id = any (agents) order by a.agent_id for no key update
  ) l;
  if locked < cardinality(agents) then
    return;
  end if;

  instant := coalesce(at, clock_timestamp());
  instant_ms := floor(extract(epoch from instant) * 1000);
  this_slot := instant_ms / 54000000 % 3;
  today := (instant at time zone 'UTC')::date;

  -- An agent's day begins with its first attempt on that day. A day that has begun does not end early, even if the clock
  -- is set back.
  if oldest < today then
    with ended as (
      select a.* from budget.accounts a where a.agent_id = any (agents) and a.day < today
    ), kept as (
      insert into budget.past_days (agent_id, day, used_units, used_introductions, credits_drawn)
      select e.agent_id, e.day, e.used_units, e.used_introductions, e.credits_drawn
      from ended e where e.day > '-infinity'
    )
    update budget.accounts a set day = today, used_units = 0, used_introductions = 0, credits_drawn = 0
    from ended e where a.agent_id = e.agent_id;
  end if;

  -- A separate statement, so that its snapshot is taken after the locks are held.
  return query
  with item as (
    select u.* from unnest(operations, owners, agents, costs, peers, holds_ms)
      with ordinality as u (operation, owner, agent_id, units, peer, hold_ms, ord)
  ), known as (
    select i.*, a.day, a.used_units, a.credits_drawn, a.used_introductions, a.credit_balance, r.state, r.deadline_ms as last_deadline_ms,
      r.operation is not null and (r.owner, r.agent_id, r.introduction_peer)
        is distinct from (i.owner, i.agent_id, i.peer) as differs,
      r.units is distinct from i.units as other_price,
      greatest(instant_ms + i.hold_ms, r.deadline_ms + 1) as next_deadline_ms,
      budget.credits_for(i.units, a.used_units, a.credits_drawn, free_units) as credits,
      i.peer is not null and p.agent_id is null as introduces_first,
      i.peer is not null and p.settled is not true as introduces
    from item i
    join budget.accounts a on a.agent_id = i.agent_id
    left join budget.reservations r on r.operation = i.operation
    left join budget.introductions p on p.agent_id = i.agent_id and p.peer = i.peer
  ), judged as (
    select k.*, case
      when k.differs then 'differs'
      when k.state = 'held' and k.other_price then 'other_price'
      when k.state in ('held', 'settled') then k.state
      else coalesce(
        budget.refusal_of(
          units => k.units,
          introduces => k.introduces_first,
          used_units => k.used_units,
          credits_drawn => k.credits_drawn,
          credit_balance => k.credit_balance,
          used_introductions => k.used_introductions,
          free_units => free_units,
          hard_limit => hard_limit,
          introduction_limit => introduction_limit
        ),
        'taken'
      )
    end as outcome
    from known k
  ), charged as (
    update budget.accounts a
    set used_units = a.used_units + j.units,
      used_introductions = a.used_introductions + j.introduces_first::integer,
      credits_drawn = a.credits_drawn + j.credits,
      credit_balance = a.credit_balance - j.credits
    from judged j where j.outcome = 'taken' and a.agent_id = j.agent_id
  ), taken as (
    insert into budget.reservations
      (operation, slot, state, owner, agent_id, units, introduction_peer, deadline_ms, day, credits, introduces)
    select j.operation, this_slot, 'held', j.owner, j.agent_id, j.units, j.peer, j.next_deadline_ms, j.day, j.credits, j.introduces
    from judged j where j.outcome = 'taken' and j.state is null
  ), taken_again as (
    -- A repeat moves the reservation to the partition of now, so that it does not keep an old one from being emptied.
    update budget.reservations r
    set slot = this_slot, state = 'held', units = j.units, deadline_ms = j.next_deadline_ms, day = j.day, credits = j.credits,
      introduces = j.introduces
    from judged j where j.outcome = 'taken' and j.state = 'released' and r.operation = j.operation
  ), extended as (
    update budget.reservations r set slot = this_slot, deadline_ms = j.next_deadline_ms
    from judged j where j.outcome = 'held' and r.operation = j.operation
  ), introduced as (
    insert into budget.introductions (agent_id, peer, day, holders)
    select j.agent_id, j.peer, j.day, 1 from judged j where j.outcome = 'taken' and j.introduces_first
  ), joined as (
    update budget.introductions p set holders = p.holders + 1
    from judged j
    where j.outcome = 'taken' and j.introduces and not j.introduces_first
      and p.agent_id = j.agent_id and p.peer = j.peer
  )
  select j.ord::integer, j.outcome,
    case when j.outcome in ('settled', 'other_price') then j.last_deadline_ms else j.next_deadline_ms end, instant_ms
  from judged j;
end
$$;

grant execute on function budget.reserve to budget;
