-- without a transaction
-- listRevoked: few agents are suspended, so this stays small.
drop index concurrently if exists messaging.logs_suspended;
create index concurrently logs_suspended on messaging.logs (suspended_at) where suspended_at is not null;
