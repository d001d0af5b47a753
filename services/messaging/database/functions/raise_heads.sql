-- messaging.raise_heads, revision 1
-- Raises the heads of all logs, in batches: call it with the same arguments until `more` is false. A reference raises each log
-- once. So a repeat after a crash continues where the last batch ended, and a repeat after the end changes nothing.
--
-- In: the reference; the number of positions; at most how many logs in this call; the longest wait for each lock. After that it
--   raises 55P03 (lock_not_available), and this call has changed nothing.
-- Out: `began`: this call is the first with this reference. `raised`: the logs of this call. `logs`: those of all calls.
--   `more`: logs are left. `differs`: the reference was used with another number, and nothing has changed.
-- Locks, in order: the row of messaging.raises, the logs by id.
create or replace function messaging.raise_heads(
  of_reference text, by_positions bigint, at_most integer, lock_wait_ms integer
) returns table (began boolean, raised bigint, logs bigint, more boolean, differs boolean)
language plpgsql as $$
declare
  raise_row messaging.raises;
  highest text;
begin
  perform set_config('lock_timeout', lock_wait_ms::text, true);
  insert into messaging.raises (reference, raised_by) values (of_reference, by_positions) on conflict do nothing;
  began := found;
  select r.* into strict raise_row from messaging.raises r where r.reference = of_reference for update;
  differs := raise_row.raised_by <> by_positions;
  raised := 0;
  logs := raise_row.logs;
  more := raise_row.through is not null;
  if differs or not more then
    return next;
    return;
  end if;
  -- A log that was opened after the row of the raise may be raised again here. That only skips more positions.
  with next_logs as materialized (
    select l.id from messaging.logs l where l.id > raise_row.through order by l.id limit at_most for no key update
  ), lifted as (
    update messaging.logs l set head = l.head + by_positions, skipped = l.skipped + by_positions
    from next_logs n where l.id = n.id
  )
  select count(*), max(n.id) into raised, highest from next_logs n;
  more := raised = at_most;
  logs := raise_row.logs + raised;
  update messaging.raises r set through = case when more then highest end, logs = raise_heads.logs
  where r.reference = of_reference;
  return next;
end
$$;

grant execute on function messaging.raise_heads to messaging;
