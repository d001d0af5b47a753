-- identity.commit_operation, revision 1
-- Copied by libs/charging/src/copy-sql.ts; not to be edited.
-- Records, in the caller's transaction, that a paid operation took effect. Its cost is already reserved.
--
-- In: the operation; the deadline of the attempt.
-- Out: committed; duplicate (another attempt has committed the operation, and the caller must not do the work again).
--   After the deadline, or if a fence has ended the attempt, it raises CHG01, so that the transaction cannot commit.
-- Locks: the operation's row, until the transaction ends.
create or replace function identity.commit_operation(operation text, attempt_deadline_ms bigint) returns text
language plpgsql as $$
begin
  insert into identity.operations as o (id, committed, deadline_ms) values (operation, true, attempt_deadline_ms)
  on conflict (id) do update set committed = true, deadline_ms = excluded.deadline_ms
  where not o.committed and o.deadline_ms < excluded.deadline_ms;
  if not found then
    if exists (select from identity.operations o where o.id = operation and o.committed) then
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

grant execute on function identity.commit_operation to identity;
