-- Most reservations are updated once, when their charge is settled, and none is deleted: their partition is truncated later. By
-- default, vacuum would scan all indexes of a growing partition again each time that it grows by a fifth, to find little space that
-- can be reused. Now it does so about each time that the partition has doubled.
alter table budget.reservations_0 set (autovacuum_vacuum_scale_factor = 0.5, autovacuum_vacuum_insert_scale_factor = 0.5);
alter table budget.reservations_1 set (autovacuum_vacuum_scale_factor = 0.5, autovacuum_vacuum_insert_scale_factor = 0.5);
alter table budget.reservations_2 set (autovacuum_vacuum_scale_factor = 0.5, autovacuum_vacuum_insert_scale_factor = 0.5);
