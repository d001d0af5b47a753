-- messaging.open_logs, revision 3
-- Opens logs that do not exist. The log of an erased agent is revoked from the start.
--
-- In: log_ids; lock_wait_ms: the longest wait for each log that another transaction is opening. After that it raises 55P03
--   (lock_not_available).
-- Out: nothing.
-- Locks: the logs by id.
create or replace function messaging.open_logs(log_ids text[], lock_wait_ms integer) returns void
language plpgsql as $$
begin
  perform set_config('lock_timeout', lock_wait_ms::text, true);
  -- The standing of an erased agent has a version that no append was decided on.
  insert into messaging.logs (id, head, skipped, revoked, standing_version)
  select u.id, f.head, f.head, e.erased, case when e.erased then -1 else 0 end
  from unnest(log_ids) as u (id), messaging.first_head() as f (head), messaging.is_erased(u.id) as e (erased)
  order by u.id on conflict (id) do nothing;
end
$$;

grant execute on function messaging.open_logs to messaging;
