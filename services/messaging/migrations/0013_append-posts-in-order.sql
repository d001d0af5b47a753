-- messaging.append_posts of 0011 with the ids taken in their order, as messaging.append takes them: batches that are rivals
-- for several of them wait for each other and never in a circle.
create or replace function messaging.append_posts(
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
  lease_seconds double precision
) returns table (
  ord bigint, outcome text, accepted_at bigint, expires_at bigint,
  -- The subscribers' logs and the positions there, to be published; null where nobody subscribes.
  logs text[], positions bigint[], outbox_id bigint
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
    select i.*, least(now_seconds + retention_seconds, i.expiry_cap)::bigint as expiry,
      case
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
