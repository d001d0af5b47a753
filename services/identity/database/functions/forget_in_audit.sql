-- identity.forget_in_audit, revision 1
-- Replaces the id of an erased agent in the audit by its keyed hash. The only change of a row of the audit that exists. It runs
-- with the rights of the migrating role, because the service's login may not change the audit.
--
-- In: the id of the agent; its keyed hash.
-- Out: how many rows it changed.
-- Locks: the rows.
create or replace function identity.forget_in_audit(agent text, tombstone text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  changed bigint;
begin
  if tombstone !~ '^Erased[1-9a-fZ]{36}$' or agent ~ '^Erased[1-9a-fZ]{36}$' then
    raise exception 'only the id of an agent is replaced, and only by a tombstone';
  end if;
  update identity.audit a set target = tombstone where a.target = agent;
  get diagnostics changed = row_count;
  return changed;
end
$$;

revoke all on function identity.forget_in_audit from public;
grant execute on function identity.forget_in_audit to identity;
