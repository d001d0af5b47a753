-- webhook.claim, revision 1
-- Called by the release that test/check/released.json records, and by no later one. Remove this file when that record
-- no longer marks the function as `called`; a numbered file of tables/ then drops it.
--
-- Leases due jobs to one worker. webhook.claim_fairly has replaced it. It takes at most `host_limit` endpoints of each host,
-- and none of a busy host. If the endpoints that have been due for longest all belong to one host, the next claim skips that
-- host.
--
-- In: the maximum of steady and of struggling endpoints, the slots of an endpoint, the seconds of a lease, the maximum of
--   endpoints of a host; the busy hosts, which have enough requests in progress.
-- Out: the jobs, each with its endpoint.
-- Locks, in order: endpoints by due_at (no key update, skip locked), then jobs.

-- An overload that no recorded release calls.
drop function if exists webhook.claim(bigint, bigint, bigint, double precision);

create or replace function webhook.claim(
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

grant execute on function webhook.claim to webhook;
