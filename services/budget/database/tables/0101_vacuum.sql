-- Every reservation is changed once, soon after it was made, and none is deleted: its partition is truncated later. By default,
-- vacuum would read all of a growing partition and its indexes again for each fifth that it grows, to find little space that can
-- be reused. Now it does so each time that the partition has doubled.
alter table budget.reservations_0 set (autovacuum_vacuum_scale_factor = 1);
alter table budget.reservations_1 set (autovacuum_vacuum_scale_factor = 1);
alter table budget.reservations_2 set (autovacuum_vacuum_scale_factor = 1);

-- Nearly every value is different, so no statistics would help a plan.
alter table budget.reservations alter column operation set statistics 0, alter column introduction_peer set statistics 0;
