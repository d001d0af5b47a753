-- Copied by libs/charging/src/copy-sql.ts; not to be edited.
-- What became of the operations that were paid for: one row each, written by the attempt that committed, or by a fence.
-- The row is the lock between the two. Either writes it under its primary key, and an insert of a key that another
-- transaction is inserting waits for that transaction's end. So a fence that meets a commit in flight answers what
-- became of it, and a commit that meets a fence sees how far it reaches.
create table webhook.operations (
  id text collate "C" primary key,
  committed boolean not null,
  -- Committed: the deadline of the attempt that did it. Else no attempt with this deadline or an earlier one may.
  deadline_ms bigint not null
);
create index operations_deadline on webhook.operations (deadline_ms); -- purge

grant usage on schema webhook to webhook;
grant select, insert, update, delete on webhook.operations to webhook;
