-- Copied by libs/charging/src/copy-sql.ts; not to be edited.
-- The outcome of each paid operation: one row, written by the attempt that committed or by a fence. The row is the lock
-- between the two. Both write it under its primary key, and the second insert of a key waits until the transaction of
-- the first has ended. So a fence that meets a commit in flight learns its outcome, and a commit that meets a fence
-- sees the deadline up to which the fence ends attempts.
create table identity.operations (
  id text collate "C" primary key,
  committed boolean not null,
  -- If committed: the deadline of the attempt that committed. Otherwise no attempt with this or an earlier deadline may
  -- commit.
  deadline_ms bigint not null
);
create index operations_deadline on identity.operations (deadline_ms); -- purge

grant usage on schema identity to identity;
grant select, insert, update, delete on identity.operations to identity;
