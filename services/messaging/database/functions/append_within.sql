-- messaging.append_within, revision 1
-- Appends one batch of accepted direct messages in one call and one transaction. It decides nothing. It only refuses an item
-- if the facts behind its decision have changed. A log that another transaction holds for long does not delay the other logs
-- (ADR 14). The usual message takes a shorter way, messaging.append_one.
--
-- In: parallel arrays, one item at each index (why arrays: ADR 23). It waits at most `lock_wait_ms` for each lock. After that it
--   raises 55P03 (lock_not_available), and nothing is appended. With `skip_busy` it waits for no log.
-- Out: a row for each item. position is set only for accepted items, which are to be published.
--   outcome: accepted.
--     duplicate: the same envelope was accepted before.
--     conflict: another envelope has taken the id.
--     stale: the decision no longer holds. The recipient's policy, revocation or contact state for the sender has changed,
--       or the sender has a pending request.
--     fenced: the reservation was given up or is past its deadline.
--     busy: with `skip_busy`, another transaction holds the log, or the log does not exist.
--   No rows, and nothing is appended: without `skip_busy`, a recipient has no log yet. The caller opens it (open_logs) and
--   calls again. Opening it here, while other logs are locked, would take locks out of order.
-- Locks, in order: the advisory lock that marks appends in progress (7305001, shared), logs by id (no key update),
--   operations (7305002, shared), ids in key order, pending requests.
create or replace function messaging.append_within(
  ids text[],
  digests text[], -- lower-case hex
  senders text[],
  recipients text[],
  lanes text[],
  threads text[],
  envelopes text[],
  expiry_caps bigint[], -- Unix seconds of ts + ttl; null: none
  standings bigint[],
  operations text[],
  deadlines_ms bigint[],
  retention_seconds double precision,
  policies text[], -- the recipient's
  contacts text[], -- the state that the recipient has set for the sender: accepted, blocked or none
  lock_wait_ms integer,
  skip_busy boolean
) returns table (
  ord bigint, outcome text, lane text, "position" bigint, accepted_at bigint, expires_at bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  secret bytea;
  -- The recipients.
  log_ids text[] := array(select distinct r.id from unnest(recipients) as r (id));
  -- The logs that this call has locked.
  own text[];
  -- Read after the locks are held, so that the times in one log never go backwards.
  now_ms bigint;
  now_seconds bigint;
  transaction_id bigint;
begin
  -- Take this lock before the transaction gets an id. It shows an export which appends are in progress (src/store/read/export.ts).
  perform set_config('lock_timeout', lock_wait_ms::text, true), pg_catalog.pg_advisory_xact_lock_shared(7305001);
  select s.secret into secret from messaging.id_secret s;

  -- In key order, so that batches never deadlock.
  if skip_busy then
    own := array(
      select l.id from messaging.logs l where l.id = any (log_ids) order by l.id for no key update skip locked
    );
  else
    own := array(select l.id from messaging.logs l where l.id = any (log_ids) order by l.id for no key update);
    if cardinality(own) < cardinality(log_ids) then
      return;
    end if;
  end if;
  -- After the logs, so that no transaction waits for a log while it holds these locks. A fence never waits for these locks.
  perform pg_catalog.pg_advisory_xact_lock_shared(7305002, hashtext(o.id)) from unnest(operations) as o (id);

  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);
  now_seconds := now_ms / 1000;
  transaction_id := pg_current_xact_id()::text::bigint;

  -- A separate statement, so that its snapshot is taken after the locks are held.
  return query
  with judged as materialized (
    select i.*, l.head, k.key, k."check",
      coalesce(m.lane, (array['inbox', 'requests', 'board'])[(x.place & 3)::integer + 1]) as earlier_lane,
      least(now_seconds + retention_seconds, i.expiry_cap)::bigint as expiry,
      case
        when skip_busy and i.recipient <> all (own) then 'busy'
        when x.key is not null then
          case when coalesce(m.digest = decode(i.digest, 'hex') and m.sender = i.sender, x."check" = k."check")
            then 'duplicate' else 'conflict' end
        when i.deadline_ms < now_ms or f.through_ms >= i.deadline_ms then 'fenced'
        when i.lane = 'requests' and p.expires_at > now_seconds then 'stale'
        when l.standing_version <> i.standing and (l.revoked, l.policy, coalesce((
          select c.state from messaging.contacts c where c.owner = i.recipient and c.other = i.sender
        ), 'none')) is distinct from (false, i.policy, i.contact) then 'stale'
        else 'accepted'
      end as outcome
    from unnest(
      ids, digests, senders, recipients, lanes, threads, envelopes, expiry_caps, standings, policies, contacts, operations,
      deadlines_ms
    ) with ordinality as i (
      id, digest, sender, recipient, lane, thread_id, envelope, expiry_cap, standing, policy, contact, operation,
      deadline_ms, ord
    )
    cross join lateral (
      select messaging.id_key(i.id, secret) as key,
        messaging.id_check(decode(i.digest, 'hex'), i.sender, secret) as "check"
    ) k
    left join messaging.logs l on l.id = i.recipient
    left join messaging.ids x on x.key = k.key
    left join lateral messaging.find_message(case when x.key is not null then i.id end) m on true
    left join messaging.message_fences f on f.operation = i.operation
    left join messaging.pending p on i.lane = 'requests' and p.recipient = i.recipient and p.sender = i.sender
  ), placed as materialized (
    select j.*, j.head + row_number() over (partition by j.recipient order by j.ord) as position,
      messaging.new_place(j.expiry, retention_seconds) as place
    from judged j where j.outcome = 'accepted'
  ), taken as (
    insert into messaging.ids (key, "check", place)
    select p.key, p."check", p.place << 2 | case p.lane when 'requests' then 1 else 0 end from placed p order by p.key
  ), stored as (
    insert into messaging.messages
      (place, id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, batch, ordinal)
    select p.place, p.id, decode(p.digest, 'hex'), p.sender, p.recipient, p.lane, p.position, p.thread_id, p.envelope,
      now_seconds, p.expiry, transaction_id, p.ord
    from placed p order by p.place
  ), entered as (
    insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
    select p.recipient, p.lane, p.position, p.place, p.thread_id, p.expiry from placed p
  ), advanced as (
    update messaging.logs l set head = n.head
    from (select p.recipient, max(p.position) as head from placed p group by p.recipient) n
    where l.id = n.recipient
  ), asked as (
    insert into messaging.pending (recipient, sender, message, expires_at)
    select p.recipient, p.sender, p.place, p.expiry from placed p where p.lane = 'requests'
    on conflict (recipient, sender) do update set message = excluded.message, expires_at = excluded.expires_at
  )
  select p.ord, p.outcome, p.lane, p.position, now_seconds, p.expiry from placed p
  union all
  select j.ord, j.outcome, coalesce(j.earlier_lane, j.lane), null, now_seconds, j.expiry
  from judged j where j.outcome <> 'accepted';
end
$$;

grant execute on function messaging.append_within to messaging;
