-- One log that is held for long does not hold up the others (docs/adr/0014-locks-are-not-waited-for-long.md).
--
-- messaging.append_within appends a batch of direct messages, as messaging.append of 0014_append-one.sql did, and waits
-- `lock_wait_ms` at most for each lock. Past that it raises 55P03 (lock_not_available), and nothing was appended.
-- With `skip_busy` it waits for no log: an item whose log is held by another transaction, or does not exist, is `busy`.
-- Outcomes: accepted, duplicate, conflict, stale, fenced, busy. No rows at all: a log does not exist, and without `skip_busy`
-- the caller opens it first.
-- Locks, in order: the mark of appends under way (7305001, shared), logs by id, operations (7305002, shared).
create function messaging.append_within(
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
  contacts text[], -- what the recipient thinks of the sender: accepted, blocked or none
  lock_wait_ms integer, -- for each lock; null: until the statement's own timeout
  skip_busy boolean
) returns table (
  ord bigint, outcome text, lane text, "position" bigint, accepted_at bigint, expires_at bigint, outbox_id bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  log record;
  expiry bigint;
  nothing text;
  -- The logs that this call has locked.
  own text[];
  -- Drawn after the locks, so that the times of one log do not run backwards.
  now_ms bigint;
  now_seconds bigint;
  transaction_id bigint;
begin
  -- The lock is taken before the transaction gets an id: an export sees by it which appends are under way (src/store/export.ts).
  perform case when lock_wait_ms is not null then set_config('lock_timeout', lock_wait_ms::text, true) end,
    pg_catalog.pg_advisory_xact_lock_shared(7305001);

  -- The short way, for one message that is plainly to be accepted: for the inbox, its id not taken, its reservation good, and
  -- the recipient as it was. Everything else is found out below.
  if cardinality(ids) = 1 and lanes[1] = 'inbox' and not skip_busy then
    select l.head + 1 as next, l.standing_version into log from messaging.logs l where l.id = log_ids[1] for no key update;
    if not found then
      return;
    end if;
    -- As an assignment, which costs less than a statement.
    nothing := pg_catalog.pg_advisory_xact_lock_shared(7305002, hashtext(operations[1]))::text;
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

  -- In key order, so that batches never wait for each other in a circle.
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
  -- Behind the logs, so that nobody who holds these waits for a log. A fence never waits for them.
  perform pg_catalog.pg_advisory_xact_lock_shared(7305002, hashtext(o.id)) from unnest(operations) as o (id);

  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);
  now_seconds := now_ms / 1000;
  transaction_id := pg_current_xact_id()::text::bigint;

  -- A statement of its own: its snapshot is younger than the locks.
  return query
  with judged as materialized (
    select i.*, l.head, coalesce(m.lane, t.lane) as earlier_lane,
      least(now_seconds + retention_seconds, i.expiry_cap)::bigint as expiry,
      case
        when skip_busy and i.recipient <> all (own) then 'busy'
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
    left join messaging.logs l on l.id = i.recipient
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

-- The names that the release before calls. It waits for locks as it always did.
create or replace function messaging.append(
  log_ids text[], ids text[], digests text[], senders text[], recipients text[], lanes text[], threads text[],
  envelopes text[], expiry_caps bigint[], standings bigint[], operations text[], deadlines_ms bigint[],
  retention_seconds double precision, lease_seconds double precision, policies text[], contacts text[]
) returns table (
  ord bigint, outcome text, lane text, "position" bigint, accepted_at bigint, expires_at bigint, outbox_id bigint
) language sql as $$
  select a.* from messaging.append_within(
    log_ids, ids, digests, senders, recipients, lanes, threads, envelopes, expiry_caps, standings, operations, deadlines_ms,
    retention_seconds, lease_seconds, policies, contacts, null, false
  ) a
$$;

-- The same for posts, as messaging.append_posts of 0013_append-posts-in-order.sql. A post is `busy` when one of its logs is.
create function messaging.append_posts_within(
  log_ids text[], -- boards and subscribers, each once
  ids text[],
  digests text[], -- lower-case hex
  senders text[],
  boards text[],
  threads text[],
  envelopes text[],
  expiry_caps bigint[], -- Unix seconds of ts + ttl; null: none
  operations text[],
  deadlines_ms bigint[],
  -- Parallel to each other: a post, by its place in the arrays above from 1, and one of its subscribers.
  fan_ords bigint[],
  fan_logs text[],
  retention_seconds double precision,
  lease_seconds double precision,
  lock_wait_ms integer,
  skip_busy boolean
) returns table (
  ord bigint, outcome text, accepted_at bigint, expires_at bigint,
  -- The subscribers' logs and the positions there, to be published; null where nobody subscribes.
  logs text[], positions bigint[], outbox_id bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  -- The logs that this call has locked.
  own text[];
  -- Drawn after the locks, so that the times of one log do not run backwards.
  now_ms bigint;
  now_seconds bigint;
  transaction_id bigint;
begin
  perform case when lock_wait_ms is not null then set_config('lock_timeout', lock_wait_ms::text, true) end,
    pg_catalog.pg_advisory_xact_lock_shared(7305001);
  if skip_busy then
    own := array(
      select l.id from messaging.logs l where l.id = any (log_ids) order by l.id for no key update skip locked
    );
  else
    own := array(
      select l.id from messaging.logs l where l.id = any (log_ids) order by l.id for no key update
    );
    if cardinality(own) < cardinality(log_ids) then
      return;
    end if;
  end if;
  perform pg_catalog.pg_advisory_xact_lock_shared(7305002, hashtext(o.id)) from unnest(operations) as o (id);

  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);
  now_seconds := now_ms / 1000;
  transaction_id := pg_current_xact_id()::text::bigint;

  -- A statement of its own: its snapshot is younger than the locks.
  return query
  with judged as materialized (
    select i.*, least(now_seconds + retention_seconds, i.expiry_cap)::bigint as expiry,
      case
        when skip_busy and (i.board <> all (own) or exists (
          select from unnest(fan_ords, fan_logs) as u (ord, log) where u.ord = i.ord and u.log <> all (own)
        )) then 'busy'
        when m.id is not null or t.id is not null then
          case when coalesce(m.digest, t.digest) = decode(i.digest, 'hex') and coalesce(m.sender, t.sender) = i.sender
            then 'duplicate' else 'conflict' end
        when i.deadline_ms < now_ms or f.through_ms >= i.deadline_ms then 'fenced'
        else 'accepted'
      end as outcome
    from unnest(ids, digests, senders, boards, threads, envelopes, expiry_caps, operations, deadlines_ms)
    with ordinality as i (id, digest, sender, board, thread_id, envelope, expiry_cap, operation, deadline_ms, ord)
    left join messaging.messages m on m.id = i.id
    left join messaging.tombstones t on t.id = i.id
    left join messaging.message_fences f on f.operation = i.operation
  ), due as (
    select j.ord, j.board as log, true as is_board from judged j where j.outcome = 'accepted'
    union all
    select u.ord, u.log, false
    from unnest(fan_ords, fan_logs) as u (ord, log) join judged j on j.ord = u.ord and j.outcome = 'accepted'
  ), placed as materialized (
    select d.*, l.head + row_number() over (partition by d.log order by d.ord) as position
    from due d join messaging.logs l on l.id = d.log
  ), stored as (
    insert into messaging.messages
      (id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, batch, ordinal)
    select j.id, decode(j.digest, 'hex'), j.sender, j.board, 'board', p.position, j.thread_id, j.envelope, now_seconds,
      j.expiry, transaction_id, j.ord
    from judged j join placed p on p.ord = j.ord and p.is_board
    order by j.id collate "C"
  ), entered as (
    insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
    -- Threads are listed by the board's log alone.
    select p.log, 'board', p.position, j.id, case when p.is_board then j.thread_id end, j.expiry
    from placed p join judged j on j.ord = p.ord
  ), advanced as (
    update messaging.logs l set head = n.head
    from (select p.log, max(p.position) as head from placed p group by p.log) n
    where l.id = n.log
  ), announced as materialized (
    select p.ord, array_agg(p.log) as logs, array_agg(p.position) as positions
    from placed p where not p.is_board group by p.ord
  ), queued as (
    insert into messaging.outbox (logs, kinds, positions, leased_until)
    select array_agg(p.log), array_agg('board'::text), array_agg(p.position),
      clock_timestamp() + make_interval(secs => lease_seconds)
    from placed p where not p.is_board having count(*) > 0
    returning id
  )
  select j.ord, j.outcome, now_seconds, j.expiry, a.logs, a.positions, (select q.id from queued q)
  from judged j left join announced a on a.ord = j.ord;
end
$$;

create or replace function messaging.append_posts(
  log_ids text[], ids text[], digests text[], senders text[], boards text[], threads text[], envelopes text[],
  expiry_caps bigint[], operations text[], deadlines_ms bigint[], fan_ords bigint[], fan_logs text[],
  retention_seconds double precision, lease_seconds double precision
) returns table (
  ord bigint, outcome text, accepted_at bigint, expires_at bigint, logs text[], positions bigint[], outbox_id bigint
) language sql as $$
  select a.* from messaging.append_posts_within(
    log_ids, ids, digests, senders, boards, threads, envelopes, expiry_caps, operations, deadlines_ms, fan_ords, fan_logs,
    retention_seconds, lease_seconds, null, false
  ) a
$$;

-- Opens logs that do not exist, in key order, and waits `lock_wait_ms` at most for each that another transaction is opening.
create function messaging.open_logs(log_ids text[], lock_wait_ms integer) returns void
language plpgsql as $$
begin
  perform set_config('lock_timeout', lock_wait_ms::text, true);
  insert into messaging.logs (id) select u.id from unnest(log_ids) as u (id) order by u.id on conflict (id) do nothing;
end
$$;

grant execute on function messaging.append_within, messaging.append_posts_within, messaging.open_logs to messaging;
