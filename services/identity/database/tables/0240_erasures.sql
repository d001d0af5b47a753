-- Erasures of agents by an operator (spec 12.4).

-- The secret of the keyed hashes. It is created with the schema and never changed, because all of them depend on it.
create table identity.erasure_key (
  secret bytea not null check (octet_length(secret) = 32),
  single boolean primary key default true check (single)
);
insert into identity.erasure_key (secret)
select decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

-- Ids and names of erased agents, as keyed hashes (tombstone_of). None is ever given again.
create table identity.erased (
  key text collate "C" primary key -- findStanding
);

create table identity.erasures (
  -- The keyed hash that replaces the id.
  tombstone text collate "C" primary key,
  -- Null once the agent is erased.
  agent_id text collate "C" unique,
  requested_at timestamptz not null default clock_timestamp(),
  -- When the next step may begin; while a process works on it, when its lease ends.
  due_at timestamptz not null,
  -- The step that is next (src/domain/erasure-steps.ts), and its place, if it has several pages.
  step text not null default 'close',
  place text not null default '',
  operator text not null,
  reason text not null,
  reference text,
  -- The suspension before the erasure was asked for, which a cancellation restores: {"until": Unix seconds or null}. Null: none.
  earlier_suspension jsonb,
  -- What was removed or replaced, by service and kind.
  report jsonb not null default '{}',
  finished_at timestamptz
);
create index erasures_due on identity.erasures (due_at) where finished_at is null; -- claimErasure

revoke all on identity.erasure_key, identity.erased, identity.erasures from identity;
grant select on identity.erasure_key, identity.erased to identity;
grant select, insert, update, delete on identity.erasures to identity;
