-- The directory of agents, and what registrations and signed requests may use only once. Owner of every object: the
-- migrating role; the service's own role gets what it uses at the end. Times are Unix seconds (spec 2.1). Names and ids are
-- compared by their bytes (spec 7.9).

create table identity.agents (
  -- base58 of SHA-256 of the key. As the primary key, it lets each key be registered at most once.
  agent_id text collate "C" constraint agents_key_once primary key, -- findAgents, insertAgent
  name text collate "C" not null constraint agents_name_once unique, -- findAgentsByName, insertAgent
  public_key bytea not null check (octet_length(public_key) = 32),
  created_at bigint not null default floor(extract(epoch from clock_timestamp())),
  inbox_policy text not null default 'requests' check (inbox_policy in ('requests', 'open', 'contacts', 'closed')),
  discoverable boolean not null default false,
  revoked boolean not null default false,
  -- Whether the webhook service knows that the agent was revoked (spec 5.11).
  webhook_closed boolean not null default false,
  -- Raised by every change of inbox_policy or revoked, which messaging must know.
  mailbox_version bigint not null default 0,
  -- The highest version that messaging has confirmed.
  mailbox_pushed bigint not null default 0,
  check (mailbox_pushed <= mailbox_version)
);
create index agents_listed on identity.agents (name) where discoverable and not revoked; -- listAgents
-- admit: every request asks for its signer here. Few are revoked, so this stays small and in memory.
create index agents_revoked on identity.agents (agent_id) where revoked;
create index agents_webhook_open on identity.agents (agent_id) where revoked and not webhook_closed; -- listOpenWebhooks
create index agents_unpushed on identity.agents (agent_id) where mailbox_pushed < mailbox_version; -- listUnpushed

-- The challenges that registrations have consumed (spec 5.4, 5.6). Issuing a challenge writes nothing. So this table
-- holds only solved challenges, until they expire.
create table identity.consumed_challenges (
  id uuid primary key, -- insertAgent, findStanding
  expires_at bigint not null -- Unix seconds
);
create index consumed_challenges_expiry on identity.consumed_challenges (expires_at); -- purgeChallenges

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

-- The outcome of each paid operation (libs/charging). Deadlines are epoch milliseconds.
create table identity.operations (
  id text collate "C" primary key, -- commit, fence
  -- True: the attempt with this deadline has committed. False: a fence; no attempt with this or an earlier deadline may commit.
  committed boolean not null,
  deadline_ms bigint not null
);
create index operations_deadline on identity.operations (deadline_ms); -- purge

grant usage on schema identity to identity;
-- First, revoke the default privileges of the deployment.
revoke all on identity.agents, identity.consumed_challenges from identity;
revoke all on identity.nonces, identity.nonces_0, identity.nonces_1, identity.nonces_2 from identity;
-- No delete of agents, and no update of id, name, key or time, because names are never reassigned and an id belongs to its
-- key for ever.
grant select, insert on identity.agents to identity;
grant update (inbox_policy, discoverable, revoked, webhook_closed, mailbox_version, mailbox_pushed) on identity.agents
  to identity;
-- Update: to lock the rows that are purged.
grant select, insert, update, delete on identity.consumed_challenges to identity;
grant select, insert on identity.nonces to identity;
grant truncate on identity.nonces_0, identity.nonces_1, identity.nonces_2 to identity;
grant select, insert, update, delete on identity.operations to identity;
