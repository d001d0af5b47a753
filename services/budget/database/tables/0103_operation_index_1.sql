-- without a transaction
-- Why: 0102.
drop index concurrently if exists budget.reservations_1_operation;
create index concurrently reservations_1_operation on budget.reservations_1 using hash (operation);
