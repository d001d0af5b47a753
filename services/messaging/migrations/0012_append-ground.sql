-- messaging.append of 0002 with what each item was decided on: an item is stale where the recipient's policy or what it thinks
-- of the sender is another now, and no longer where the recipient has changed anything at all. An agent that accepted many
-- contacts at once kept out those who wrote to it meanwhile. The ground is looked at where the version differs.
--
-- And ids are taken in their order: batches that are rivals for several of them wait for each other and never in a circle.
--
-- The release before calls it without the ground: for such an item any other version is stale, as before.
create function messaging.append(
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
  locked bigint;
  -- Drawn after the locks, so that the times of one log do not run backwards.
  now_ms bigint;
  now_seconds bigint;
  transaction_id bigint;
begin
  -- With the exclusive lock of messaging.fence_messages: what is fenced is seen here, and what commits here is seen there.
  perform pg_catalog.pg_advisory_xact_lock_shared(7305001);

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

create or replace function messaging.append(
  log_ids text[],
  ids text[],
  digests text[],
  senders text[],
  recipients text[],
  lanes text[],
  threads text[],
  envelopes text[],
  expiry_caps bigint[],
  standings bigint[],
  operations text[],
  deadlines_ms bigint[],
  retention_seconds double precision,
  lease_seconds double precision
) returns table (
  ord bigint, outcome text, lane text, "position" bigint, accepted_at bigint, expires_at bigint, outbox_id bigint
) language sql as $$
  select a.* from messaging.append(
    log_ids, ids, digests, senders, recipients, lanes, threads, envelopes, expiry_caps, standings, operations, deadlines_ms,
    retention_seconds, lease_seconds, null, null
  ) a
$$;

grant execute on function messaging.append(
  text[], text[], text[], text[], text[], text[], text[], text[], bigint[], bigint[], text[], bigint[], double precision,
  double precision, text[], text[]
) to messaging;
