-- The time of the revocation: stream processes ask for recently revoked agents, and close their streams.
alter table messaging.logs add column revoked_at timestamptz; -- null also if an older release revoked the agent
create index logs_revoked on messaging.logs (revoked_at) where revoked_at is not null; -- listRevoked
