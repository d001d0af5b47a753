-- messaging.fence_messages, revision 1
-- Called by the release that test/check/released.json records, and by no later one. Remove this file when that record
-- no longer marks the function as `called`; a numbered file of tables/ then drops it.
--
-- messaging.fence_appends under its old name.
--
-- In: as messaging.fence_appends.
-- Out: an answer for each operation. It raises 55P03 (lock_not_available) where messaging.fence_appends answers null,
--   and
--   the caller asks again.
-- Locks: as messaging.fence_appends.
create or replace function messaging.fence_messages(operations text[], ids text[], digests text[], throughs_ms bigint[])
returns table (ord integer, committed boolean) language plpgsql as $$
#variable_conflict use_column
begin
  for ord, committed in
    select f.ord, f.committed from messaging.fence_appends(operations, ids, digests, throughs_ms) f
  loop
    if committed is null then
      raise exception 'an append of the operation is under way' using errcode = '55P03';
    end if;
    return next;
  end loop;
end
$$;

grant execute on function messaging.fence_messages to messaging;
