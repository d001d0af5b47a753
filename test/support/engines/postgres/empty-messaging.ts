import postgres from 'postgres'

/**
 * Resets a database of messaging: the rows of the baseline, sequences at their start, a new secret of the ids, no counters.
 * @param adminUrl the URL of the superuser.
 * @throws if another session does not end, or if rows of the baseline are missing.
 */
export async function emptyMessaging(adminUrl: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} })
  try {
    // A statement whose client is gone could still write.
    const rows = await sql<{ ended: boolean }[]>`
      select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    if (rows.some(({ ended }) => !ended)) throw new Error('a session did not end')
    await sql.unsafe(EMPTY)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

const EMPTY = `
  set lock_timeout = '5s';
  do $$
  declare
    one record;
  begin
    for one in
      select c.oid::regclass as name, c.relkind as kind from pg_class c
      where c.relnamespace = 'messaging'::regnamespace and c.relkind in ('r', 'S')
        and c.relname not in ('migrations', 'migrations_id_seq', 'functions', 'id_secret', 'slots')
    loop
      if one.kind = 'S' then
        execute format('alter sequence %s restart', one.name);
        continue;
      end if;
      if pg_relation_size(one.name) > 0 then
        execute format('truncate %s', one.name);
      end if;
    end loop;
    update messaging.slots set emptied_at = null where emptied_at is not null;
    update messaging.id_secret set secret = decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
    assert (select count(*) from messaging.slots) = 8 and (select count(*) from messaging.id_secret) = 1, 'rows are missing';
  end
  $$;
  -- Tests count how often a statement reads or updates.
  select pg_stat_reset()`
