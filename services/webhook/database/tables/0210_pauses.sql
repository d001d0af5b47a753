-- While an operator suspends an agent, its webhook rests (spec 12.4): its jobs stay, and no attempt begins.
alter table webhook.endpoints
  -- The end; infinity: when an operator ends it. Null, or past: the endpoint is not paused. Until then, due_at is not earlier.
  add column paused_until timestamptz,
  -- The last version of the suspension that identity has sent. Lower versions are late and change nothing.
  add column suspension_version bigint not null default 0;
