-- The nonces of signed requests, remembered for at least ten minutes (spec 3.7).
--
-- Time, by this server's clock, is cut into slots of 600 s, and each slot writes to one of three partitions in turn. A
-- request is new if its nonce is in neither the current nor the previous slot. So a nonce is remembered for 10 to 20
-- minutes. The partition of the next slot holds only old nonces; a loop truncates it. So storage is bounded, nothing is
-- ever deleted row by row, and nothing needs a vacuum.
create table identity.nonces (
  slot smallint not null, -- number of the slot modulo 3
  key uuid not null, -- 16 bytes of SHA-256 over agent id and nonce
  primary key (slot, key) -- admit
) partition by list (slot);
-- No autovacuum: rows are never updated or deleted, and truncated long before their transaction ids could wrap around.
create table identity.nonces_0 partition of identity.nonces for values in (0)
  with (autovacuum_enabled = false);
create table identity.nonces_1 partition of identity.nonces for values in (1)
  with (autovacuum_enabled = false);
create table identity.nonces_2 partition of identity.nonces for values in (2)
  with (autovacuum_enabled = false);

revoke all on identity.nonces, identity.nonces_0, identity.nonces_1, identity.nonces_2 from identity;
grant select, insert on identity.nonces to identity;
grant truncate on identity.nonces_0, identity.nonces_1, identity.nonces_2 to identity;
