-- The suspension of an agent by an operator, as identity has sent it (spec 12.4): its streams close. Messages to it are still
-- accepted.
alter table messaging.logs
  -- The end; infinity: when an operator ends it. Null, or past: the agent is not suspended.
  add column suspended_until timestamptz,
  -- When messaging learned of it: stream processes ask for recently suspended agents, and close their streams.
  add column suspended_at timestamptz,
  -- The last version that identity has sent. Lower versions are late and change nothing.
  add column suspension_version bigint not null default 0;
