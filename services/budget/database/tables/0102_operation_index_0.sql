-- without a transaction
-- Reservations are found by operation, a long random text. A hash index stores only a hash of four bytes, and takes a fifth of the
-- primary key's space. So it fits into memory much longer (ADR 29).
--
-- A file that fails runs again from its first statement. So each partition has its own file, and a failure repeats one build, not
-- three. Charges continue during the build.
drop index concurrently if exists budget.reservations_0_operation;
create index concurrently reservations_0_operation on budget.reservations_0 using hash (operation);
