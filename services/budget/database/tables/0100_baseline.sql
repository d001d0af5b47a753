-- The budgets of agents, and their spending. A day is a UTC day by this database's clock.

-- One row for each agent that was ever charged or granted anything. The lock of the row serializes all changes of the
-- agent's budget: a transaction that reserves, releases or grants holds it from its first read to its commit.
create table budget.accounts (
  agent_id text collate "C" primary key, -- reserve, release, grant, getBudget
  -- Grants, minus the credits that were spent and not given back.
  credit_balance bigint not null default 0 check (credit_balance >= 0),
  -- The day of the three counters below: the last day on which the agent was charged.
  day date not null default '-infinity',
  used_units bigint not null default 0 check (used_units >= 0),
  used_introductions bigint not null default 0 check (used_introductions >= 0),
  -- How many of the used units were paid with credits.
  credits_drawn bigint not null default 0 check (credits_drawn between 0 and used_units)
) with (fillfactor = 50); -- room for the counters to be updated in place

-- The counters of earlier days, as they were when the next day began, less what was released since.
create table budget.past_days (
  agent_id text collate "C" not null,
  day date not null,
  used_units bigint not null check (used_units >= 0),
  used_introductions bigint not null check (used_introductions >= 0),
  credits_drawn bigint not null check (credits_drawn between 0 and used_units),
  primary key (agent_id, day) -- release
);

-- The cost of an operation. held: its owner has not reported the outcome yet. settled: the operation is done, and the
-- charge is final. released: the attempt was abandoned and nothing is charged; another attempt is charged anew.
--
-- An operation has one row, because it has one agent, and the lock of the agent's account puts its attempts in order. No index
-- makes sure of it: a hash index stores only a hash of the operation, a long random text, and takes a fifth of the space of a
-- primary key. So it fits into memory much longer (ADR 29).
--
-- Reservations are in 3 partitions in turn. Time, by this server's clock, is cut into slots of 15 hours, and each slot
-- writes to one partition. A loop truncates a partition when all that it holds ended more than 25 hours ago
-- (truncate_reservations), so nothing is deleted row by row. A slot has 5 hours between that and its next use.
create table budget.reservations (
  operation text collate "C" not null,
  state text not null check (state in ('held', 'settled', 'released')),
  owner text not null,
  agent_id text collate "C" not null,
  units bigint not null check (units >= 0),
  introduction_peer text collate "C",
  -- The deadline of the last attempt, which rises with each attempt. No owner commits after it. `release` names the attempt
  -- by its deadline.
  deadline_ms bigint not null,
  -- The day on which the cost was taken, and to which a release gives it back.
  day date not null,
  -- How many of the units were paid with credits.
  credits bigint not null,
  -- The introduction of its pair depends on this operation, among others (budget.introductions).
  introduces boolean not null,
  -- The slot of the last attempt, modulo 3 (reserve).
  slot smallint not null
) partition by list (slot);
do $$
begin
  -- Most reservations are updated once, when their charge is settled, and none is deleted. By default, vacuum would scan all
  -- indexes of a growing partition again each time that it grows by a fifth, to find little space that can be reused. Now it
  -- does so about each time that the partition has doubled.
  for slot in 0..2 loop
    execute format('create table budget.reservations_%s partition of budget.reservations for values in (%s)
      with (autovacuum_vacuum_scale_factor = 0.5, autovacuum_vacuum_insert_scale_factor = 0.5)', slot, slot);
  end loop;
end
$$;
create index reservations_operation on budget.reservations using hash (operation); -- reserve, settle, release, judge-charges
create index reservations_held on budget.reservations (owner, deadline_ms) where state = 'held'; -- listOverdue
create index reservations_done on budget.reservations (deadline_ms) where state <> 'held'; -- truncate_reservations, audits
-- Finds the held reservations that a refusal of the agent may depend on, because they may still be released
-- (store/reconsider.ts).
create index reservations_held_by_agent on budget.reservations (agent_id) where state = 'held'; -- reconsider

-- Pairs that were introduced. The introduction is permanent once one operation of the pair is settled. Until then the held
-- reservations of the pair share it. It is counted once, and removed when the last of them is released.
create table budget.introductions (
  agent_id text collate "C" not null,
  peer text collate "C" not null,
  -- The day that counts the introduction, and to which a release gives it back.
  day date not null,
  settled boolean not null default false,
  holders bigint not null,
  primary key (agent_id, peer) -- reserve, settle, release
);
create index introductions_open on budget.introductions (agent_id) where not settled; -- reconsider

-- Credits that the operator has issued (spec 11.4).
create table budget.grants (
  reference text collate "C" primary key, -- grant
  agent_id text collate "C" not null,
  units bigint not null check (units > 0),
  granted_at timestamptz not null default clock_timestamp()
);

grant usage on schema budget to budget;
grant select, insert, update, delete on all tables in schema budget to budget;
revoke all on budget.reservations_0, budget.reservations_1, budget.reservations_2 from budget;
grant select, truncate on budget.reservations_0, budget.reservations_1, budget.reservations_2 to budget;
