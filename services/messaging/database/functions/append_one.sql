-- messaging.append_one, revision 1
-- The short path for the usual message (ADR 10): one message for the inbox, alone in its batch. It only accepts. It appends the
-- message as messaging.append_within does, with single-row statements, which take half the time.
--
-- In: the message, and the version of the recipient's standing that the decision is based on. It waits at most `lock_wait_ms`
--   for each lock. After that it raises 55P03 (lock_not_available), and nothing is appended.
-- Out: a row if the message was accepted. No row, and nothing is appended, in every other case: the recipient has no log or
--   another standing, the id is taken, or the reservation was given up or is past its deadline. The caller then asks
--   messaging.append_within, which says what is the matter.
-- Locks, in order: the advisory lock that marks appends in progress (7305001, shared), the log (no key update), the operation
--   (7305002, shared), the id.
create or replace function messaging.append_one(
  message_id text,
  digest text, -- lower-case hex
  sender text,
  recipient text,
  thread text,
  envelope text,
  expiry_cap bigint, -- Unix seconds of ts + ttl; null: none
  standing bigint,
  of_operation text,
  deadline_ms bigint,
  retention_seconds double precision,
  lock_wait_ms integer
) returns table ("position" bigint, accepted_at bigint, expires_at bigint)
language plpgsql as $$
declare
  log record;
  nothing text;
  secret bytea;
  id_key uuid;
  own_place bigint;
  -- Read after the locks are held, so that the times in one log never go backwards.
  now_ms bigint;
begin
  -- Take this lock before the transaction gets an id. It shows an export which appends are in progress (src/store/read/export.ts).
  perform set_config('lock_timeout', lock_wait_ms::text, true), pg_catalog.pg_advisory_xact_lock_shared(7305001);
  select s.secret into secret from messaging.id_secret s;
  select l.head + 1 as next, l.standing_version into log from messaging.logs l where l.id = recipient for no key update;
  if not found then
    return;
  end if;
  -- An assignment, because it costs less than a statement.
  nothing := pg_catalog.pg_advisory_xact_lock_shared(7305002, hashtext(of_operation))::text;
  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);
  if log.standing_version <> standing or deadline_ms < now_ms then
    return;
  end if;

  position := log.next;
  accepted_at := now_ms / 1000;
  expires_at := least(accepted_at + retention_seconds, expiry_cap);
  id_key := messaging.id_key(message_id, secret);
  own_place := messaging.new_place(expires_at, retention_seconds);
  -- A separate statement, so that its snapshot is taken after the locks are held.
  insert into messaging.ids (key, "check", place)
  select id_key, messaging.id_check(decode(digest, 'hex'), sender, secret), own_place << 2
  where not exists (select from messaging.ids i where i.key = id_key)
    and not exists (
      select from messaging.message_fences f where f.operation = of_operation and f.through_ms >= deadline_ms
    );
  if not found then
    return;
  end if;
  insert into messaging.messages
    (place, id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, batch, ordinal)
  values (own_place, message_id, decode(digest, 'hex'), sender, recipient, 'inbox', log.next, thread, envelope,
    accepted_at, expires_at, pg_current_xact_id()::text::bigint, 1);
  insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
  values (recipient, 'inbox', log.next, own_place, thread, expires_at);
  update messaging.logs l set head = log.next where l.id = recipient;
  return next;
end
$$;

grant execute on function messaging.append_one to messaging;
