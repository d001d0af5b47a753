-- webhook.claim_fairly, revision 4
-- Leases due jobs to one worker, the oldest jobs of each endpoint first. In three steps:
--
-- 1. Share. Every free slot of a due endpoint is a place: the first place of an endpoint is its first request, and so on. The
--    places of each host are ranked, first places before second ones, and so are the places of all hosts together. A place
--    within both limits is granted. So each endpoint of a host gets its first request before any gets a second one.
--    An endpoint that has a grant is locked.
-- 2. Lease. Counts the free slots again, because another worker may have leased jobs before the lock, and leases at most as
--    many jobs as were granted. So the limit of slots holds across all workers.
-- 3. Notes when each of these endpoints is due again.
--
-- A host has at most `host_jobs` requests of one standing in this worker, including those in progress (`busy_*`). Second
-- requests use at most half of them, so that the other half stays free for endpoints that have no request.
--
-- In: the maximum of jobs of steady and of struggling endpoints, the slots of an endpoint, the seconds of a lease, the
--   maximum of jobs of a host; parallel arrays: the worker's requests in progress by standing and host.
-- Out: the jobs, each with its endpoint. Endpoints that another worker has locked are skipped. A paused endpoint is not due.
-- Locks, in order: endpoints by due_at (no key update, skip locked), then jobs.
create or replace function webhook.claim_fairly(
  steady_jobs bigint, struggling_jobs bigint, slots bigint, lease_seconds double precision,
  host_jobs bigint, busy_standings text[], busy_hosts text[], busy_jobs bigint[]
) returns table (
  agent_id text, configuration uuid, message_id text, lease uuid, url text, host text, key_id text, sealed bytea, body text,
  expires_at bigint, accepted_ms bigint, attempts smallint, standing text
)
language plpgsql as $$
declare
  chosen text[];
  grants bigint[];
  moment timestamptz := clock_timestamp();
  full_hosts text[] := array(
    select b.standing || ' ' || b.host from unnest(busy_standings, busy_hosts, busy_jobs) as b (standing, host, jobs)
    where b.jobs >= host_jobs
  );
begin
  -- 1. Share. Twice as many endpoints as jobs, because some have no free slot.
  with due as materialized (
    (
      select e.agent_id, e.configuration, e.due_at, e.host, e.standing from webhook.endpoints e
      where not e.struggling and e.due_at <= moment and e.standing || ' ' || e.host <> all (full_hosts)
      order by e.due_at limit 2 * steady_jobs
    )
    union all
    (
      select e.agent_id, e.configuration, e.due_at, e.host, e.standing from webhook.endpoints e
      where e.struggling and e.due_at <= moment and e.standing || ' ' || e.host <> all (full_hosts)
      order by e.due_at limit 2 * struggling_jobs
    )
  ), counted as materialized (
    -- An endpoint that is alone on its host competes with no other, so its leases need not be counted here.
    select d.*, case when count(*) over (partition by d.standing, d.host) = 1 then 0
      else webhook.count_leased(d.configuration, moment) end as leased
    from due d
  ), places as (
    select c.agent_id, c.due_at, c.standing, p.place, coalesce(b.jobs, 0)
      + row_number() over (partition by c.standing, c.host order by p.place, c.due_at) as rank_in_host
    from counted c
    cross join lateral generate_series(c.leased + 1, slots) as p (place)
    left join unnest(busy_standings, busy_hosts, busy_jobs) as b (standing, host, jobs)
      on b.standing = c.standing and b.host = c.host
  ), within_host as (
    select p.*, row_number() over (partition by p.standing = 'struggling' order by p.place, p.due_at) as rank_in_all
    from places p
    where p.rank_in_host <= case when p.place = 1 then host_jobs else greatest(host_jobs / 2, slots) end
  ), granted as materialized (
    select w.agent_id, count(*) as jobs from within_host w
    where w.rank_in_all <= case when w.standing = 'struggling' then struggling_jobs else steady_jobs end
    group by w.agent_id
  ), locked as materialized (
    select e.agent_id from webhook.endpoints e
    where e.due_at <= moment and e.agent_id in (select g.agent_id from granted g)
    order by e.due_at for no key update of e skip locked
  )
  select array_agg(g.agent_id), array_agg(g.jobs) into chosen, grants from granted g join locked l using (agent_id);

  if chosen is null then
    return;
  end if;

  -- 2. Lease.
  moment := clock_timestamp();
  return query
    with free as materialized (
      select e.agent_id, e.configuration, e.url, e.host, e.key_id, e.sealed, e.standing,
        least(g.jobs, slots - webhook.count_leased(e.configuration, moment)) as jobs
      from unnest(chosen, grants) as g (agent_id, jobs) join webhook.endpoints e on e.agent_id = g.agent_id
    ), taken as materialized (
      select f.agent_id, f.configuration, f.url, f.host, f.key_id, f.sealed, f.standing, d.message_id
      from free f
      cross join lateral (
        select j.message_id from webhook.jobs j
        where j.configuration = f.configuration and j.due_at <= moment
        order by j.due_at limit greatest(f.jobs, 0)
      ) d
    )
    update webhook.jobs j
    set lease = gen_random_uuid(), due_at = moment + make_interval(secs => lease_seconds)
    from taken t where j.configuration = t.configuration and j.message_id = t.message_id
    returning t.agent_id, j.configuration, j.message_id, j.lease, t.url, t.host, t.key_id, t.sealed, j.body, j.expires_at,
      j.accepted_ms, j.attempts, t.standing;

  -- 3. When each endpoint is due again.
  update webhook.endpoints e set due_at = webhook.not_before(case
    when slots <= webhook.count_leased(e.configuration, moment) then webhook.first_lease_end(e.configuration, moment)
    else (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null)
  end, e.paused_until)
  where e.agent_id = any (chosen);
end
$$;

grant execute on function webhook.claim_fairly to webhook;
