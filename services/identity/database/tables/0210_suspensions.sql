-- The suspension of an agent by an operator (spec 12.4).
alter table identity.agents
  -- The end; infinity: when an operator ends it. Null, or past: the agent is not suspended.
  add column suspended_until timestamptz,
  -- Raised by every change of suspended_until, which messaging and webhook must know.
  add column suspension_version bigint not null default 0,
  -- The highest version that both have confirmed.
  add column suspension_pushed bigint not null default 0;

grant update (suspended_until, suspension_version, suspension_pushed) on identity.agents to identity;
