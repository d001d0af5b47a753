-- messaging.append_posts_within, revision 1
-- Appends one batch of accepted posts in one call and one transaction. Each post is stored once, and gets one entry in its
-- board's log and one in the log of each subscriber. It decides nothing: the boards service has judged who may post and who
-- subscribes.
--
-- In: parallel arrays, one post at each index; log_ids: boards and subscribers, each once; fan_ords and fan_logs: parallel
--   to each other, one subscriber of one post at each index. fan_ords has the index of the post in the other arrays, from 1.
--   It waits for locks as messaging.append_within does.
-- Out: a row for each post. logs and positions: the entries of its subscribers, to be published; null without subscribers.
--   outcome: accepted.
--     duplicate: the same envelope was accepted before.
--     conflict: another envelope has taken the id.
--     fenced: the reservation was given up or is past its deadline.
--     busy: with `skip_busy`, another transaction holds one of the post's logs, or one of them does not exist.
--   No rows, and nothing is appended: without `skip_busy`, a log is missing. The caller opens it (open_logs) and calls again.
-- Locks, in order: the advisory lock that marks appends in progress (7305001, shared), logs by id (no key update),
--   operations (7305002, shared), ids in key order.
create or replace function messaging.append_posts_within(
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
  -- Parallel to each other: the index of a post in the arrays above, from 1, and one of its subscribers.
  fan_ords bigint[],
  fan_logs text[],
  retention_seconds double precision,
  lock_wait_ms integer,
  skip_busy boolean
) returns table (
  ord bigint, outcome text, accepted_at bigint, expires_at bigint,
  -- The subscribers' logs and the positions in them, to be published; null without subscribers.
  logs text[], positions bigint[]
) language plpgsql as $$
#variable_conflict use_column
declare
  -- The logs that this call has locked.
  own text[];
  -- Read after the locks are held, so that the times in one log never go backwards.
  now_ms bigint;
  now_seconds bigint;
  transaction_id bigint;
  secret bytea;
begin
  perform set_config('lock_timeout', lock_wait_ms::text, true), pg_catalog.pg_advisory_xact_lock_shared(7305001);
  select s.secret into secret from messaging.id_secret s;
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

  -- A separate statement, so that its snapshot is taken after the locks are held.
  return query
  with judged as materialized (
    select i.*, k.key, k."check", least(now_seconds + retention_seconds, i.expiry_cap)::bigint as expiry,
      case
        when skip_busy and (i.board <> all (own) or exists (
          select from unnest(fan_ords, fan_logs) as u (ord, log) where u.ord = i.ord and u.log <> all (own)
        )) then 'busy'
        when x.key is not null then
          case when coalesce(m.digest = decode(i.digest, 'hex') and m.sender = i.sender, x."check" = k."check")
            then 'duplicate' else 'conflict' end
        when i.deadline_ms < now_ms or f.through_ms >= i.deadline_ms then 'fenced'
        else 'accepted'
      end as outcome
    from unnest(ids, digests, senders, boards, threads, envelopes, expiry_caps, operations, deadlines_ms)
    with ordinality as i (id, digest, sender, board, thread_id, envelope, expiry_cap, operation, deadline_ms, ord)
    cross join lateral (
      select messaging.id_key(i.id, secret) as key,
        messaging.id_check(decode(i.digest, 'hex'), i.sender, secret) as "check"
    ) k
    left join messaging.ids x on x.key = k.key
    left join lateral messaging.find_message(case when x.key is not null then i.id end) m on true
    left join messaging.message_fences f on f.operation = i.operation
  ), due as (
    select j.ord, j.board as log, true as is_board from judged j where j.outcome = 'accepted'
    union all
    select u.ord, u.log, false
    from unnest(fan_ords, fan_logs) as u (ord, log) join judged j on j.ord = u.ord and j.outcome = 'accepted'
  ), placed as materialized (
    select d.*, l.head + row_number() over (partition by d.log order by d.ord) as position
    from due d join messaging.logs l on l.id = d.log
  ), located as materialized (
    select j.*, p.position, messaging.new_place(j.expiry, retention_seconds) as place
    from judged j join placed p on p.ord = j.ord and p.is_board
  ), taken as (
    insert into messaging.ids (key, "check", place)
    select l.key, l."check", l.place << 2 | 2 from located l order by l.key
  ), stored as (
    insert into messaging.messages
      (place, id, digest, sender, recipient, lane, position, thread_id, envelope, accepted_at, expires_at, batch, ordinal)
    select l.place, l.id, decode(l.digest, 'hex'), l.sender, l.board, 'board', l.position, l.thread_id, l.envelope,
      now_seconds, l.expiry, transaction_id, l.ord
    from located l order by l.place
  ), entered as (
    insert into messaging.entries (log, kind, position, message, thread_id, expires_at)
    -- Threads are listed only from the board's log.
    select p.log, 'board', p.position, l.place, case when p.is_board then l.thread_id end, l.expiry
    from placed p join located l on l.ord = p.ord
  ), advanced as (
    update messaging.logs l set head = n.head
    from (select p.log, max(p.position) as head from placed p group by p.log) n
    where l.id = n.log
  ), announced as materialized (
    select p.ord, array_agg(p.log) as logs, array_agg(p.position) as positions
    from placed p where not p.is_board group by p.ord
  )
  select j.ord, j.outcome, now_seconds, j.expiry, a.logs, a.positions
  from judged j left join announced a on a.ord = j.ord;
end
$$;

grant execute on function messaging.append_posts_within to messaging;
