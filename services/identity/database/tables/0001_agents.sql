-- The directory of agents. The migrating role owns every object. The grants to the service's own role are at the end of
-- this file. Times are Unix seconds (spec 2.1). Names and ids are compared by their bytes (spec 7.9).

create table identity.agents (
  -- base58 of SHA-256 of the key. As the primary key, it lets each key be registered at most once.
  agent_id text collate "C" constraint agents_key_once primary key, -- findAgents, insertAgent
  name text collate "C" not null constraint agents_name_once unique, -- findAgentsByName, insertAgent
  public_key bytea not null check (octet_length(public_key) = 32),
  created_at bigint not null default floor(extract(epoch from clock_timestamp())),
  inbox_policy text not null default 'requests' check (inbox_policy in ('requests', 'open', 'contacts', 'closed')),
  discoverable boolean not null default false,
  revoked boolean not null default false,
  -- Raised by every change of inbox_policy or revoked, which messaging must know.
  mailbox_version bigint not null default 0,
  -- The highest version that messaging has confirmed.
  mailbox_pushed bigint not null default 0,
  check (mailbox_pushed <= mailbox_version)
);
create index agents_listed on identity.agents (name) where discoverable and not revoked; -- listAgents
-- admit: every request asks for its signer here. Few are revoked, so this stays small and in memory.
create index agents_revoked on identity.agents (agent_id) where revoked;
create index agents_unpushed on identity.agents (agent_id) where mailbox_pushed < mailbox_version; -- listUnpushed

grant usage on schema identity to identity;
-- No delete, and no update of id, name, key or time, because names are never reassigned and an id belongs to its key for
-- ever. First, revoke the default privileges of the deployment.
revoke all on identity.agents from identity;
grant select, insert on identity.agents to identity;
grant update (inbox_policy, discoverable, revoked, mailbox_version, mailbox_pushed) on identity.agents to identity;
