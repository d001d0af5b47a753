-- budget.reserve, revision 3
-- Takes what a batch of operations costs: one call, one transaction. An agent occurs once in a batch.
--
-- In: arrays in parallel, one item at each index; the operator's allowances; `at` moves the clock in tests (null: the
--   database's clock, read once the locks are held).
-- Out: a row for each item. deadline_ms is the deadline of this attempt, later than all before it. For `settled` and
--   `other_price` it is the deadline of the last attempt before.
--   outcome: taken.
--     held: an earlier attempt has taken it, and this attempt takes its place.
--     other_price: an earlier attempt holds it for other units. Nothing is known before that attempt has ended.
--     settled: done before, whatever it cost. Nothing is taken.
--     differs: reserved before for another agent, owner or peer, which is a fault of its owner.
--     introduction_limit_reached, hard_limit_reached, budget_exhausted: refused, and no trace is left.
--   No rows, and nothing is taken: an agent has no account yet. The caller opens it (openAccounts) and calls again. To
--   open it here, with other accounts locked, would wait for keys out of order.
-- Locks, in order: accounts by agent_id (no key update), then past days, reservations and introductions of these
--   accounts.
--
-- A price may change between two attempts: a post costs by who subscribes when it is judged (spec 8.8).
--
-- Every lookup is by primary key. The settings say so to the planner: a plan is made once for each connection, when the
-- tables may still be empty, and would read them from end to end for as long as the connection lives.
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
  today date;
begin
  -- The short way, for one operation that is plainly to be taken: never reserved before, within the free units, and of
  -- a pair that was introduced for good, if of any. Whatever else it may be is found out below.
  if cardinality(operations) = 1 then
    select a.day, a.used_units, a.credits_drawn into account from budget.accounts a where a.agent_id = agents[1] for no key update;
    if not found then
      return;
    end if;
    instant := coalesce(at, clock_timestamp());
    instant_ms := floor(extract(epoch from instant) * 1000);
    if account.day >= (instant at time zone 'UTC')::date
      -- Not even of an agent without credits.
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
        (operation, state, owner, agent_id, units, introduction_peer, deadline_ms, day, credits, introduces)
      select operations[1], 'held', owners[1], agents[1], costs[1], peers[1], instant_ms + holds_ms[1], account.day, 0, false
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
  today := (instant at time zone 'UTC')::date;

  -- A day begins for each agent with its first attempt in it. One that has begun does not end early, even if the clock
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

  -- A statement of its own: its snapshot is younger than the locks.
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
      (operation, state, owner, agent_id, units, introduction_peer, deadline_ms, day, credits, introduces)
    select j.operation, 'held', j.owner, j.agent_id, j.units, j.peer, j.next_deadline_ms, j.day, j.credits, j.introduces
    from judged j where j.outcome = 'taken' and j.state is null
  ), taken_again as (
    update budget.reservations r
    set state = 'held', units = j.units, deadline_ms = j.next_deadline_ms, day = j.day, credits = j.credits,
      introduces = j.introduces
    from judged j where j.outcome = 'taken' and j.state = 'released' and r.operation = j.operation
  ), extended as (
    update budget.reservations r set deadline_ms = j.next_deadline_ms
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
