-- Copied by libs/charging/src/operations-migration.ts; not to be edited.
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

-- Records the operation in the caller's transaction. Answers committed, or duplicate where another attempt did it.
-- Raises CHG01, so that the transaction cannot commit, past the deadline or behind a fence.
create function webhook.commit_operation(operation text, attempt_deadline_ms bigint) returns text
language plpgsql as $$
begin
  insert into webhook.operations as o (id, committed, deadline_ms) values (operation, true, attempt_deadline_ms)
  on conflict (id) do update set committed = true, deadline_ms = excluded.deadline_ms
  where not o.committed and o.deadline_ms < excluded.deadline_ms;
  if not found then
    if exists (select from webhook.operations o where o.id = operation and o.committed) then
      return 'duplicate';
    end if;
    raise exception 'the attempt was given up' using errcode = 'CHG01';
  end if;
  if attempt_deadline_ms < extract(epoch from clock_timestamp()) * 1000 then
    raise exception 'the attempt is past its deadline' using errcode = 'CHG01';
  end if;
  return 'committed';
end
$$;

-- Ends the attempts of each operation up to a deadline; answers for each whether one of them, or a later one, committed.
-- In id order, so that fences wait for each other and never in a circle. An operation occurs once.
create function webhook.fence_operations(operations text[], deadlines_ms bigint[])
returns table (operation text, committed boolean)
language sql set lock_timeout = '1s' as $$
  insert into webhook.operations as o (id, committed, deadline_ms)
  select u.id, false, u.deadline_ms from unnest(operations, deadlines_ms) u (id, deadline_ms) order by u.id
  on conflict (id) do update
  set deadline_ms = case when o.committed then o.deadline_ms else greatest(o.deadline_ms, excluded.deadline_ms) end
  returning o.id, o.committed
$$;

grant usage on schema webhook to webhook;
grant select, insert, update, delete on webhook.operations to webhook;
grant execute on function webhook.commit_operation, webhook.fence_operations to webhook;
