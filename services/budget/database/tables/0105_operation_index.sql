-- Joins the indexes of 0102 to 0104 under one parent, and drops the primary key. The key was unique only within a partition. An
-- operation has one row because it has one agent, and the lock of the agent's account puts its attempts in order.
--
-- The strongest lock comes first, so that a charge never deadlocks with this file.
lock table budget.reservations in access exclusive mode;
create index reservations_operation on budget.reservations using hash (operation); -- reserve, settle, release, judge-charges
alter table budget.reservations drop constraint reservations_pkey;
