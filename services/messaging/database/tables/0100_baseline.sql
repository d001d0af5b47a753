-- Logs, messages, and the state that decides where a message goes. The migrating role owns every object. The grants to
-- the service's own role are at the end of this file. Times are Unix seconds (spec 2.1).

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
  standing_version bigint not null default 0,
  -- The time of the revocation: stream processes ask for recently revoked agents, and close their streams.
  revoked_at timestamptz
) with (fillfactor = 50); -- room for `head` to be updated in place
create index logs_revoked on messaging.logs (revoked_at) where revoked_at is not null; -- listRevoked

-- The low bits of places (new_place). They must differ only among messages that expire in the same second, which the primary
-- key of messages enforces.
create sequence messaging.places minvalue 0 maxvalue 8388607 cycle;

-- The secret of the keys in messaging.ids. It is created with the schema and never changed, because all keys depend on it.
create table messaging.id_secret (
  secret bytea not null check (octet_length(secret) = 32),
  single boolean primary key default true check (single)
);
insert into messaging.id_secret (secret)
select decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

-- One row for each message id that was ever taken, for ever (spec 7.4). Written with the message, and not touched when the
-- message expires. On average 101 bytes on disk, with the index (ADR 29).
create table messaging.ids (
  key uuid primary key, -- id_key: findEarlier, place_of
  -- id_check: 40 bits for the digest, 24 for the sender. Identifies an identical retry of a purged message.
  "check" bigint not null,
  -- The place of the message, times 4, plus the lane: 0 inbox, 1 requests, 2 board. A promotion changes the lane.
  place bigint not null
);

-- Messages, entries and votes expire, so each of these tables has 8 partitions, used in turn. The partition is chosen by
-- expiry when a message is accepted (new_place), and is truncated when all its rows have expired (truncate_slot). So nothing
-- is deleted row by row, and an insert always finds its partition (ADR 29).
create table messaging.messages (
  -- new_place: partition, expiry and order of acceptance.
  place bigint not null,
  -- The position of its entry in the recipient's log; after a promotion, of its newer entry (spec 7.7).
  position bigint not null,
  -- The position of its entry as a request, if it was promoted later.
  request_position bigint,
  accepted_at bigint not null,
  expires_at bigint not null,
  -- The transaction that accepted it and the place in it: the order of export. A page ends before the oldest
  -- transaction in progress, so that no late commit appears before a cursor that was already handed out (ADR 19).
  batch bigint not null,
  ordinal integer not null,
  -- For a post: its number of rows in messaging.votes, updated in the transaction that changes them (spec 8.10).
  upvotes integer not null default 0,
  acked boolean not null default false,
  -- For a post. While it is hidden, it has no entry in the board's log, so a feed need not skip hidden posts one by one.
  -- The entries of subscribers stay and are skipped (spec 8.9).
  hidden boolean not null default false,
  lane text not null check (lane in ('inbox', 'requests', 'board')),
  id text collate "C" not null,
  -- SHA-256 of the JCS bytes, which identifies an identical retry (spec 7.4).
  digest bytea not null,
  sender text collate "C" not null,
  -- An agent's or a board's id; the log it was appended to.
  recipient text collate "C" not null,
  thread_id text collate "C",
  -- The JSON that was accepted, without insignificant white space; never parsed or written again.
  envelope text not null,
  primary key (place) -- every query that finds a message by its id or by an entry
) partition by range (place);
create index messages_sent on messaging.messages (sender, batch, ordinal); -- exportMessages
create index messages_received on messaging.messages (recipient, batch, ordinal); -- exportMessages
create index messages_thread on messaging.messages (thread_id, batch, ordinal) where thread_id is not null; -- exportMessages by thread
create index messages_unacked on messaging.messages (recipient, lane, position) where not acked and lane <> 'board'; -- listInbox unacked
-- listInbox unacked, by thread: neither messages_unacked nor entries_thread finds the few that are both.
create index messages_unacked_thread on messaging.messages (recipient, thread_id, lane, position)
  where not acked and lane <> 'board' and thread_id is not null;
-- exportMessages by thread: one author's posts in a thread that may have any number of posts by others.
create index messages_authored_thread on messaging.messages (sender, thread_id, batch, ordinal)
  where lane = 'board' and thread_id is not null;

-- Append-only: the events of each log, in the order of its cursors. An entry is in the same partition as its message.
create table messaging.entries (
  position bigint not null,
  message bigint not null, -- the place of the message
  expires_at bigint not null,
  log text collate "C" not null,
  kind text not null check (kind in ('inbox', 'requests', 'board')),
  thread_id text collate "C"
) partition by range (message);
create index entries_log on messaging.entries (log, kind, position); -- listInbox; listEvents merges the three kinds
create index entries_thread on messaging.entries (log, thread_id, kind, position) where thread_id is not null; -- listInbox by thread
create index entries_of_post on messaging.entries (message) where kind = 'board'; -- listReceivers

-- The agents that voted for a live post.
create table messaging.votes (
  message bigint not null, -- the place of the post
  voter text collate "C" not null,
  primary key (message, voter) -- findPost, addVote
) partition by range (message);

-- When each partition was truncated last.
create table messaging.slots (
  slot integer primary key,
  emptied_at timestamptz
);

do $$
begin
  for slot in 0..7 loop
    execute format('create table messaging.messages_%s partition of messaging.messages for values from (%s) to (%s)',
      slot, slot::bigint << 56, (slot + 1)::bigint << 56);
    execute format('create table messaging.entries_%s partition of messaging.entries for values from (%s) to (%s)',
      slot, slot::bigint << 56, (slot + 1)::bigint << 56);
    execute format('create table messaging.votes_%s partition of messaging.votes for values from (%s) to (%s)',
      slot, slot::bigint << 56, (slot + 1)::bigint << 56);
    insert into messaging.slots (slot) values (slot);
  end loop;
end
$$;

-- Plans do not depend on statistics of these columns, because messages are found by place.
alter table messaging.messages alter column id set statistics 0, alter column digest set statistics 0,
  alter column envelope set statistics 0;

-- The one request of a sender that a recipient has not answered; it counts until its message expires.
create table messaging.pending (
  recipient text collate "C" not null,
  sender text collate "C" not null,
  message bigint not null, -- its place
  expires_at bigint not null,
  primary key (recipient, sender)
);
create index pending_expiry on messaging.pending (expires_at); -- purge

-- The contact state that `owner` has set for `other`; `none` if there is no row.
create table messaging.contacts (
  owner text collate "C" not null,
  other text collate "C" not null,
  state text not null check (state in ('accepted', 'blocked')),
  primary key (owner, other) -- listContacts
);

-- Abandoned message operations, each with the deadline up to which it is abandoned. A committed message is recorded by the
-- row of its id in messaging.ids, any other operation in messaging.operations.
create table messaging.message_fences (
  operation text collate "C" primary key, -- append, fence_appends
  through_ms bigint not null,
  fenced_at timestamptz not null default clock_timestamp()
);
create index message_fences_age on messaging.message_fences (fenced_at); -- purge

-- The outcome of each paid operation (libs/charging). Deadlines are epoch milliseconds.
create table messaging.operations (
  id text collate "C" primary key, -- commit, fence
  -- True: the attempt with this deadline has committed. False: a fence; no attempt with this or an earlier deadline may commit.
  committed boolean not null,
  deadline_ms bigint not null
);
create index operations_deadline on messaging.operations (deadline_ms); -- purge

grant usage on schema messaging to messaging;
grant select, insert, update, delete, truncate on all tables in schema messaging to messaging;
grant usage on all sequences in schema messaging to messaging;
