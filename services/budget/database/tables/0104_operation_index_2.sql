-- without a transaction
-- Why: 0102.
drop index concurrently if exists budget.reservations_2_operation;
create index concurrently reservations_2_operation on budget.reservations_2 using hash (operation);
