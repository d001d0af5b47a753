-- One host, however many endpoints it has, takes a bounded part of a worker; and an endpoint is not struggling that has proved
-- itself: slow answers count as failures do, and one success does not make up for them.

alter table webhook.endpoints
  add column host text collate "C"
    generated always as (rtrim(lower(substring(url from '^[^/]*//(\[[^]]*\]|[^:/?#]*)')), '.')) stored,
  -- Deliveries that have to be quick, one after another, until it is not struggling any more.
  add column to_prove smallint not null default 0;

-- As before, but of each host no more than `host_limit` endpoints at once, and none of those that have enough under way.
-- Where the first that are due are all of one host, the next claim passes that over.
create function webhook.claim(
  steady_limit bigint, struggling_limit bigint, slots bigint, lease_seconds double precision,
  host_limit bigint, steady_busy text[], struggling_busy text[]
) returns table (
  agent_id text, configuration uuid, message_id text, lease uuid, url text, host text, key_id text, sealed bytea, body text,
  expires_at bigint, attempts smallint, struggling boolean
)
language plpgsql as $$
declare
  chosen text[];
  moment timestamptz := clock_timestamp();
begin
  with steady_due as materialized (
    select e.agent_id, e.due_at, e.host from webhook.endpoints e
    where not e.struggling and e.due_at <= moment and e.host <> all (steady_busy)
    order by e.due_at limit 4 * steady_limit
  ), struggling_due as materialized (
    select e.agent_id, e.due_at, e.host from webhook.endpoints e
    where e.struggling and e.due_at <= moment and e.host <> all (struggling_busy)
    order by e.due_at limit 4 * struggling_limit
  ), steady as materialized (
    select e.agent_id from webhook.endpoints e
    where e.due_at <= moment and e.agent_id in (
      select p.agent_id
      from (select d.agent_id, row_number() over (partition by d.host order by d.due_at) as place from steady_due d) p
      where p.place <= host_limit
    )
    order by e.due_at limit steady_limit for no key update of e skip locked
  ), struggling as materialized (
    select e.agent_id from webhook.endpoints e
    where e.due_at <= moment and e.agent_id in (
      select p.agent_id
      from (select d.agent_id, row_number() over (partition by d.host order by d.due_at) as place from struggling_due d) p
      where p.place <= host_limit
    )
    order by e.due_at limit struggling_limit for no key update of e skip locked
  )
  select array_agg(c.agent_id) into chosen
  from (select s.agent_id from steady s union all select s.agent_id from struggling s) c;

  if chosen is null then
    return;
  end if;

  moment := clock_timestamp();
  return query
    with free as materialized (
      select e.agent_id, e.configuration, e.url, e.host, e.key_id, e.sealed, e.struggling,
        slots - webhook.count_leased(e.configuration, moment) as room
      from webhook.endpoints e where e.agent_id = any (chosen)
    ), taken as materialized (
      select f.agent_id, f.configuration, f.url, f.host, f.key_id, f.sealed, f.struggling, d.message_id
      from free f
      cross join lateral (
        select j.message_id from webhook.jobs j
        where j.configuration = f.configuration and j.due_at <= moment
        order by j.due_at limit greatest(f.room, 0)
      ) d
    )
    update webhook.jobs j
    set lease = gen_random_uuid(), due_at = moment + make_interval(secs => lease_seconds)
    from taken t where j.configuration = t.configuration and j.message_id = t.message_id
    returning t.agent_id, j.configuration, j.message_id, j.lease, t.url, t.host, t.key_id, t.sealed, j.body, j.expires_at,
      j.attempts, t.struggling;

  update webhook.endpoints e set due_at = case
    when slots <= webhook.count_leased(e.configuration, moment) then webhook.first_lease_end(e.configuration, moment)
    else (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null)
  end
  where e.agent_id = any (chosen);
end
$$;

-- As before, but for `slow`: whether the attempt took long, however it ended.
create function webhook.finish(
  agents text[], configurations uuid[], messages text[], leases uuid[], outcomes text[], delays double precision[],
  slow boolean[]
) returns void
language plpgsql as $$
declare
  proof constant smallint := 5;
begin
  perform from webhook.endpoints e where e.agent_id = any (agents) order by e.agent_id for no key update;

  with ended as (
    update webhook.jobs j
    set lease = null,
      attempts = j.attempts + (u.outcome <> 'postponed')::integer,
      body = case when u.outcome <> 'delivered' then j.body end,
      due_at = case when u.outcome in ('retry', 'postponed') then clock_timestamp() + make_interval(secs => u.delay) end,
      ended_at = case when u.outcome in ('delivered', 'failed') then clock_timestamp() end
    from unnest(configurations, messages, leases, outcomes, delays, slow)
      as u (configuration, message_id, lease, outcome, delay, slow)
    where j.configuration = u.configuration and j.message_id = u.message_id and j.lease = u.lease
    returning j.agent_id, j.configuration, u.outcome, u.slow
  ), counted as (
    select n.agent_id, n.configuration, count(*) filter (where n.outcome = 'failed') as failed,
      count(*) filter (where n.outcome = 'delivered' and not n.slow) as quick,
      count(*) filter (where n.outcome in ('failed', 'retry') or n.slow) as bad
    from ended n group by n.agent_id, n.configuration
  )
  update webhook.endpoints e
  set failed = e.failed + c.failed,
    to_prove = case when c.bad > 0 then proof else greatest(e.to_prove - c.quick, 0) end,
    struggling = case when c.bad > 0 then true when c.quick > 0 then e.to_prove > c.quick else e.struggling end
  from counted c where e.agent_id = c.agent_id and e.configuration = c.configuration;

  update webhook.endpoints e
  set due_at = (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null)
  where e.agent_id = any (agents);
end
$$;

grant execute on function webhook.claim(bigint, bigint, bigint, double precision, bigint, text[], text[]) to webhook;
grant execute on function webhook.finish(text[], uuid[], text[], uuid[], text[], double precision[], boolean[]) to webhook;
