-- Takes what one batch of operations cost: one call, one transaction. An agent occurs once in a batch. `domain/decide.ts`
-- is this rule as a pure function, and test/books.test.ts holds the two against each other.
--
-- outcome: taken; held (taken by an earlier attempt, whose place this one takes), other_price (an earlier attempt holds it
-- for other units: nothing is known before that one has ended), settled (done before, whatever it cost; nothing is taken),
-- differs (the operation was reserved for another agent, owner or peer: a fault of its owner); or a refusal, which leaves no
-- trace: introduction_limit_reached, hard_limit_reached, budget_exhausted. deadline_ms: of this attempt, later than all
-- before it; where one was settled, or holds another price, of the last before it.
--
-- A price may change between two attempts: that of a post is one of those who subscribe when it is judged (spec 8.8).
--
-- No rows at all, and nothing is taken, where an agent has no account yet (openAccounts): to open it here, with others
-- locked, would wait for keys out of order.
--
-- `at` moves the clock in tests; null: the database's, once the locks are held.
--
-- Every lookup is by primary key. The settings say so to the planner: a plan is made once for each connection, when
-- the tables may still be empty, and would read them from end to end for as long as it lives.
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
  locked bigint;
  oldest date;
  instant timestamptz;
  instant_ms bigint;
  today date;
begin
  -- In key order, so that batches wait for each other and never in a circle.
  select count(*), min(l.day) into locked, oldest from (
    select a.day from budget.accounts a where a.agent_id = any (agents) order by a.agent_id for no key update
  ) l;
  if locked < cardinality(agents) then
    return;
  end if;

  instant := coalesce(at, clock_timestamp());
  instant_ms := floor(extract(epoch from instant) * 1000);
  today := (instant at time zone 'UTC')::date;

  -- A day begins for each agent with its first attempt in it. One that has begun does not end early, even if the clock is set back.
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
    select i.*, a.day, a.used_units, a.used_introductions, a.credit_balance, r.state, r.deadline_ms as last_deadline_ms,
      r.operation is not null and (r.owner, r.agent_id, r.introduction_peer)
        is distinct from (i.owner, i.agent_id, i.peer) as differs,
      r.units is distinct from i.units as other_price,
      greatest(instant_ms + i.hold_ms, r.deadline_ms + 1) as next_deadline_ms,
      -- What the free units that are left do not cover.
      greatest(i.units - greatest(free_units - (a.used_units - a.credits_drawn), 0), 0) as credits,
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
      when k.introduces_first and k.used_introductions >= introduction_limit then 'introduction_limit_reached'
      when k.used_units + k.units > hard_limit then 'hard_limit_reached'
      when k.credits > k.credit_balance then 'budget_exhausted'
      else 'taken'
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
