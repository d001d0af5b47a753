-- {{schema}}.fence_operations, revision 1
-- Ends every attempt at an operation that has the given deadline or an earlier one: it can no longer commit.
--
-- In: parallel arrays: operations, each once, and their deadlines.
-- Out: for each operation, whether one of these attempts or a later one has committed.
-- Locks: the operations in order of their ids, so that fences never deadlock; each wait lasts at most 1 s.
create or replace function {{schema}}.fence_operations(operations text[], deadlines_ms bigint[])
returns table (operation text, committed boolean)
language sql set lock_timeout = '1s' as $$
  insert into {{schema}}.operations as o (id, committed, deadline_ms)
  select u.id, false, u.deadline_ms from unnest(operations, deadlines_ms) u (id, deadline_ms) order by u.id
  on conflict (id) do update
  set deadline_ms = case when o.committed then o.deadline_ms else greatest(o.deadline_ms, excluded.deadline_ms) end
  returning o.id, o.committed
$$;

grant execute on function {{schema}}.fence_operations to {{schema}};
