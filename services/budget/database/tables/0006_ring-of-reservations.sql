-- Reservations lie in 3 partitions in turn. Time, by this server's clock, is cut into slots of 15 hours, and each slot
-- writes to one partition. A loop truncates a partition when all that it holds ended more than 25 hours ago
-- (truncate_reservations). So nothing is deleted row by row. A slot has 5 hours between that and its next use.
alter table budget.reservations rename to reservations_0;
drop index budget.reservations_held, budget.reservations_done, budget.reservations_held_by_agent;
alter table budget.reservations_0 drop constraint reservations_pkey;
-- The slot of the last attempt, modulo 3 (reserve). The default is for rows from before this file.
alter table budget.reservations_0 add column slot smallint not null default 0;

create table budget.reservations (
  like budget.reservations_0 including defaults including constraints,
  -- reserve, settle, release. An operation is in one partition at most: the lock of its account sees to it.
  primary key (operation, slot)
) partition by list (slot);
alter table budget.reservations attach partition budget.reservations_0 for values in (0);
create table budget.reservations_1 partition of budget.reservations for values in (1);
create table budget.reservations_2 partition of budget.reservations for values in (2);
create index reservations_held on budget.reservations (owner, deadline_ms) where state = 'held'; -- listOverdue
create index reservations_done on budget.reservations (deadline_ms) where state <> 'held'; -- truncate_reservations, audits
create index reservations_held_by_agent on budget.reservations (agent_id) where state = 'held'; -- reconsider

revoke all on budget.reservations, budget.reservations_0, budget.reservations_1, budget.reservations_2 from budget;
grant select, insert, update, delete on budget.reservations to budget;
grant select, truncate on budget.reservations_0, budget.reservations_1, budget.reservations_2 to budget;
