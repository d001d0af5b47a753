-- Logs, messages, and the state that decides where a message goes. Owner of every object: the migrating role; the
-- service's own role gets what it uses at the end. Times are Unix seconds (spec 2.1).

-- One row for each agent that ever received something or set something. `head` is the position of its last entry.
create table messaging.logs (
  id text collate "C" primary key,
  head bigint not null default 0,
  policy text not null default 'requests' check (policy in ('requests', 'open', 'contacts', 'closed')),
  revoked boolean not null default false,
  -- The last version of the mailbox that identity has sent. Lower versions are late and change nothing.
  mailbox_version bigint not null default 0,
  -- Raised under the row's lock by everything that can change how this agent treats a sender: policy, revocation,
  -- contacts. An append that was decided under another version is decided again.
  standing_version bigint not null default 0
) with (fillfactor = 50); -- room for `head` to be updated in place

create table messaging.messages (
  id text collate "C" primary key, -- findEarlier, getMessage
  -- SHA-256 of the JCS bytes, which identifies an identical retry (spec 7.4).
  digest bytea not null,
  sender text collate "C" not null,
  -- An agent's id; the log it was appended to.
  recipient text collate "C" not null,
  lane text not null check (lane in ('inbox', 'requests', 'board')),
  -- Of its entry in the recipient's log; of the newer one after a promotion (spec 7.7).
  position bigint not null,
  -- The position of its entry as a request, if it was promoted later.
  request_position bigint,
  thread_id text collate "C",
  -- The JSON that was accepted, without insignificant white space; never parsed or written again.
  envelope text not null,
  accepted_at bigint not null,
  expires_at bigint not null,
  acked boolean not null default false,
  -- The transaction that accepted it and the place in it: the order of export. A page ends before the oldest
  -- transaction under way, so that no late commit appears behind a cursor (ADR 19).
  batch bigint not null,
  ordinal integer not null
);
create index messages_sent on messaging.messages (sender, batch, ordinal); -- exportMessages
create index messages_received on messaging.messages (recipient, batch, ordinal); -- exportMessages
create index messages_thread on messaging.messages (thread_id, batch, ordinal) where thread_id is not null; -- exportMessages by thread
create index messages_unacked on messaging.messages (recipient, lane, position) where not acked and lane <> 'board'; -- listInbox unacked
create index messages_expiry on messaging.messages (expires_at); -- purge

-- Append-only: what happened in each log, in the order of its cursors.
create table messaging.entries (
  log text collate "C" not null,
  kind text not null check (kind in ('inbox', 'requests', 'board')),
  position bigint not null,
  message text collate "C" not null,
  thread_id text collate "C",
  expires_at bigint not null,
  primary key (log, kind, position) -- listInbox; listEvents merges the three kinds
);
create index entries_thread on messaging.entries (log, thread_id, kind, position) where thread_id is not null; -- listInbox by thread

-- The remains of a purged message, so that its id is never used again (spec 7.4).
create table messaging.tombstones (
  id text collate "C" primary key, -- findEarlier
  digest bytea not null,
  sender text collate "C" not null,
  lane text not null
);

-- The one request of a sender that a recipient has not answered; it counts until its message expires.
create table messaging.pending (
  recipient text collate "C" not null,
  sender text collate "C" not null,
  message text collate "C" not null,
  expires_at bigint not null,
  primary key (recipient, sender)
);
create index pending_expiry on messaging.pending (expires_at); -- purge

-- The state of the contact `other` of `owner`; without a row it is `none`.
create table messaging.contacts (
  owner text collate "C" not null,
  other text collate "C" not null,
  state text not null check (state in ('accepted', 'blocked')),
  primary key (owner, other) -- listContacts
);

-- One row for each transaction that appended: which entries are to be published. Kept for a day after publication, so
-- that events that JetStream loses can be published again.
create table messaging.outbox (
  id bigint generated always as identity primary key,
  logs text[] not null,
  kinds text[] not null,
  positions bigint[] not null,
  created_at timestamptz not null default clock_timestamp(),
  -- The process with the lease publishes; at first that is the committer.
  leased_until timestamptz not null,
  published_at timestamptz,
  -- The creation time of the stream, and a sequence of it that none of the entries exceeds.
  epoch text collate "C",
  last_sequence bigint
);
create index outbox_unpublished on messaging.outbox (leased_until) where published_at is null; -- leaseOutbox
create index outbox_known on messaging.outbox (epoch, last_sequence) where published_at is not null; -- requeueForgotten
create index outbox_published on messaging.outbox (published_at) where published_at is not null; -- purge

grant usage on schema messaging to messaging;
grant select, insert, update, delete on all tables in schema messaging to messaging;
