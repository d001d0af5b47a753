-- Abandoned message operations, each with the deadline up to which it is abandoned. A message's own row is the record
-- that it was committed; other operations are recorded in messaging.operations.
create table messaging.message_fences (
  operation text collate "C" primary key, -- append, fence_messages
  through_ms bigint not null,
  fenced_at timestamptz not null default clock_timestamp()
);
create index message_fences_age on messaging.message_fences (fenced_at); -- purge
grant select, insert, update, delete on messaging.message_fences to messaging;
