-- claim as before, by the indexes: a volatile clock_timestamp() is no condition of an index, so the moment is taken first. Leased
-- jobs are found by their own index, which has a handful, and not among those that wait for their next attempt.

create or replace function webhook.claim(
  steady_limit bigint, struggling_limit bigint, slots bigint, lease_seconds double precision
) returns table (
  agent_id text, configuration uuid, message_id text, lease uuid, url text, key_id text, sealed bytea, body text,
  expires_at bigint, attempts smallint, struggling boolean
)
language plpgsql as $$
declare
  chosen text[];
  moment timestamptz := clock_timestamp();
begin
  with steady as materialized (
    select e.agent_id from webhook.endpoints e
    where not e.struggling and e.due_at <= moment
    order by e.due_at limit steady_limit for no key update skip locked
  ), struggling as materialized (
    select e.agent_id from webhook.endpoints e
    where e.struggling and e.due_at <= moment
    order by e.due_at limit struggling_limit for no key update skip locked
  )
  select array_agg(c.agent_id) into chosen
  from (select s.agent_id from steady s union all select s.agent_id from struggling s) c;

  if chosen is null then
    return;
  end if;

  moment := clock_timestamp();
  return query
    with free as materialized (
      select e.agent_id, e.configuration, e.url, e.key_id, e.sealed, e.struggling,
        slots - webhook.count_leased(e.configuration, moment) as room
      from webhook.endpoints e where e.agent_id = any (chosen)
    ), taken as materialized (
      select f.agent_id, f.configuration, f.url, f.key_id, f.sealed, f.struggling, d.message_id
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
    returning t.agent_id, j.configuration, j.message_id, j.lease, t.url, t.key_id, t.sealed, j.body, j.expires_at,
      j.attempts, t.struggling;

  update webhook.endpoints e set due_at = case
    when slots <= webhook.count_leased(e.configuration, moment) then webhook.first_lease_end(e.configuration, moment)
    else (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null)
  end
  where e.agent_id = any (chosen);
end
$$;

-- `offset 0` keeps the condition of time apart: it would make the index of all waiting jobs look as good.
create function webhook.count_leased(of_configuration uuid, at timestamptz) returns bigint
language sql volatile as $$
  select count(*) from (
    select j.due_at from webhook.jobs j where j.configuration = of_configuration and j.lease is not null offset 0
  ) l where l.due_at > at
$$;

create function webhook.first_lease_end(of_configuration uuid, at timestamptz) returns timestamptz
language sql volatile as $$
  select min(l.due_at) from (
    select j.due_at from webhook.jobs j where j.configuration = of_configuration and j.lease is not null offset 0
  ) l where l.due_at > at
$$;

grant execute on function webhook.claim, webhook.count_leased, webhook.first_lease_end to webhook;
