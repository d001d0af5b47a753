-- messaging.append of 0012_append-ground.sql with a shorter way for a batch of one. A statement costs by how much it is made of,
-- also where there is next to nothing to do (docs/adr/0010-a-batch-of-one-goes-the-short-way.md).
create or replace function messaging.append(
  log_ids text[], -- each recipient once
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
  lease_seconds double precision,
  policies text[], -- the recipient's; null: the release before
  contacts text[] -- what the recipient thinks of the sender: accepted, blocked or none
) returns table (
  ord bigint, outcome text, lane text, "position" bigint, accepted_at bigint, expires_at bigint, outbox_id bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  log record;
  expiry bigint;
  locked bigint;
  -- Drawn after the locks, so that the times of one log do not run backwards.
  now_ms bigint;
  now_seconds bigint;
  transaction_id bigint;
begin
  -- With the exclusive lock of messaging.fence_messages: what is fenced is seen here, and what commits here is seen there.
  perform pg_catalog.pg_advisory_xact_lock_shared(7305001);

  -- The short way, for one message that is plainly to be accepted: for the inbox, its id in nobody's hands, its reservation
  -- good, and the recipient as it was. Whatever else it may be is found out below.
  if cardinality(ids) = 1 and lanes[1] = 'inbox' then
    select l.head + 1 as next, l.standing_version into log from messaging.logs l where l.id = log_ids[1] for no key update;
    if not found then
      return;
    end if;
    now_ms := floor(extract(epoch from clock_timestamp()) * 1000);
    now_seconds := now_ms / 1000;
    if log.standing_version = standings[1] and deadlines_ms[1] >= now_ms then
      expiry := least(now_seconds + retention_seconds, expiry_caps[1]);
      -- A statement of its own: its snapshot is younger than the locks.
      insert into messaging.messages
        (id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, batch, ordinal)
      select ids[1], decode(digests[1], 'hex'), senders[1], log_ids[1], 'inbox', log.next, threads[1], envelopes[1],
        now_seconds, expiry, pg_current_xact_id()::text::bigint, 1
      where not exists (select from messaging.messages m where m.id = ids[1])
        and not exists (select from messaging.tombstones t where t.id = ids[1])
        and not exists (
          select from messaging.message_fences f where f.operation = operations[1] and f.through_ms >= deadlines_ms[1]
        );
      if found then
        insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
        values (log_ids[1], 'inbox', log.next, ids[1], threads[1], expiry);
        update messaging.logs l set head = log.next where l.id = log_ids[1];
        insert into messaging.outbox (logs, kinds, positions, leased_until)
        values (log_ids, lanes, array[log.next], clock_timestamp() + make_interval(secs => lease_seconds))
        returning id into outbox_id;
        ord := 1;
        outcome := 'accepted';
        lane := 'inbox';
        position := log.next;
        accepted_at := now_seconds;
        expires_at := expiry;
        return next;
        return;
      end if;
    end if;
  end if;

  -- In key order, so that batches wait for each other and never in a circle.
  perform from messaging.logs l where l.id = any (log_ids) order by l.id for no key update;
  get diagnostics locked = row_count;
  if locked < cardinality(log_ids) then
    return;
  end if;

  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);
  now_seconds := now_ms / 1000;
  transaction_id := pg_current_xact_id()::text::bigint;

  -- A statement of its own: its snapshot is younger than the locks.
  return query
  with judged as materialized (
    select i.*, l.head, coalesce(m.lane, t.lane) as earlier_lane,
      least(now_seconds + retention_seconds, i.expiry_cap)::bigint as expiry,
      case
        when m.id is not null or t.id is not null then
          case when coalesce(m.digest, t.digest) = decode(i.digest, 'hex') and coalesce(m.sender, t.sender) = i.sender
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
    join messaging.logs l on l.id = i.recipient
    left join messaging.messages m on m.id = i.id
    left join messaging.tombstones t on t.id = i.id
    left join messaging.message_fences f on f.operation = i.operation
    left join messaging.pending p on i.lane = 'requests' and p.recipient = i.recipient and p.sender = i.sender
  ), placed as materialized (
    select j.*, j.head + row_number() over (partition by j.recipient order by j.ord) as position
    from judged j where j.outcome = 'accepted'
  ), stored as (
    insert into messaging.messages
      (id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, batch, ordinal)
    select p.id, decode(p.digest, 'hex'), p.sender, p.recipient, p.lane, p.position, p.thread_id, p.envelope, now_seconds,
      p.expiry, transaction_id, p.ord
    from placed p order by p.id collate "C"
  ), entered as (
    insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
    select p.recipient, p.lane, p.position, p.id, p.thread_id, p.expiry from placed p
  ), advanced as (
    update messaging.logs l set head = n.head
    from (select p.recipient, max(p.position) as head from placed p group by p.recipient) n
    where l.id = n.recipient
  ), asked as (
    insert into messaging.pending (recipient, sender, message, expires_at)
    select p.recipient, p.sender, p.id, p.expiry from placed p where p.lane = 'requests'
    on conflict (recipient, sender) do update set message = excluded.message, expires_at = excluded.expires_at
  ), queued as (
    insert into messaging.outbox (logs, kinds, positions, leased_until)
    select array_agg(p.recipient), array_agg(p.lane), array_agg(p.position),
      clock_timestamp() + make_interval(secs => lease_seconds)
    from placed p having count(*) > 0
    returning id
  )
  select p.ord, p.outcome, p.lane, p.position, now_seconds, p.expiry, (select q.id from queued q) from placed p
  union all
  select j.ord, j.outcome, coalesce(j.earlier_lane, j.lane), null, now_seconds, j.expiry, null
  from judged j where j.outcome <> 'accepted';
end
$$;
