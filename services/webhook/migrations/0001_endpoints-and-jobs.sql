-- Webhooks and their deliveries. Owner of every object: the migrating role; the service's own role gets what it uses at
-- the end. Ids are compared by their bytes.

-- A row for each agent that has ever set a webhook, or was revoked. It is the lock of the agent's webhook and of its jobs:
-- whoever writes both takes this first.
create table webhook.endpoints (
  agent_id text collate "C" primary key, -- ingest, begin_attempts, findEndpoint
  -- Another one after every change; null: no webhook is set.
  configuration uuid,
  url text,
  -- The secret, encrypted with the key of this id.
  key_id text,
  sealed bytea,
  -- Events up to this cursor are older than the configuration.
  after_cursor bigint not null default 0,
  -- Jobs of the configuration that were given up.
  failed bigint not null default 0,
  -- No later than something is to be taken: a job is due and a slot is free, or a lease ends. Null: nothing is pending.
  due_at timestamptz,
  -- The last attempt failed. Such endpoints have a bounded part of a worker's attention.
  struggling boolean not null default false,
  -- A revocation is for ever (spec 5.11).
  revoked boolean not null default false,
  check ((configuration is null) = (url is null) and (url is null) = (key_id is null) and (key_id is null) = (sealed is null))
);
create index endpoints_due on webhook.endpoints (struggling, due_at) where due_at is not null; -- claim, measure
create index endpoints_key on webhook.endpoints (key_id) where key_id is not null; -- listSealedOtherwise

-- A job is a message for a configuration. When it has ended its row stays for days, without the body, so that an event
-- that comes again makes no second job.
create table webhook.jobs (
  configuration uuid not null,
  message_id text collate "C" not null,
  agent_id text collate "C" not null,
  -- The text of the envelope as it was received (spec: exact_body_bytes); null when the job has ended.
  body text,
  -- Of the message, Unix seconds.
  expires_at bigint not null,
  -- That have ended.
  attempts smallint not null default 0,
  -- When the next attempt is due; while a worker holds the job, when its lease ends; null when the job has ended.
  due_at timestamptz,
  -- The claim that holds the job.
  lease uuid,
  ended_at timestamptz,
  primary key (configuration, message_id), -- ingest, begin_attempts, finish
  check ((due_at is null) = (body is null) and (due_at is null) = (ended_at is not null) and (lease is null or due_at is not null))
);
create index jobs_due on webhook.jobs (configuration, due_at) where due_at is not null; -- claim, finish, findEndpoint
create index jobs_leased on webhook.jobs (configuration, due_at) where lease is not null; -- claim
create index jobs_ended on webhook.jobs (ended_at) where ended_at is not null; -- purgeJobs

-- Configurations that were changed or deleted: their jobs are void from then on, and removed bit by bit.
create table webhook.retired (
  configuration uuid primary key
);

-- Makes jobs of events, for agents that have a webhook that is older than the event. An event that comes again, and a
-- message whose time is over, make none. Answers how many it made. `delays`: seconds to the first attempt.
create function webhook.ingest(
  agents text[], cursors bigint[], messages text[], bodies text[], expiries bigint[], delays double precision[]
) returns bigint
language plpgsql as $$
declare
  made bigint;
begin
  perform from webhook.endpoints e
  where e.agent_id = any (agents) and e.configuration is not null
  order by e.agent_id for no key update;

  with inserted as (
    insert into webhook.jobs as j (configuration, message_id, agent_id, body, expires_at, due_at)
    select e.configuration, u.message_id, u.agent_id, u.body, u.expires_at,
      clock_timestamp() + make_interval(secs => u.delay)
    from unnest(agents, cursors, messages, bodies, expiries, delays)
      as u (agent_id, cursor, message_id, body, expires_at, delay)
    join webhook.endpoints e on e.agent_id = u.agent_id
    where e.configuration is not null and u.cursor > e.after_cursor
      and u.expires_at > extract(epoch from clock_timestamp())
    on conflict (configuration, message_id) do nothing
    returning j.agent_id, j.due_at
  ), due as (
    select i.agent_id, min(i.due_at) as due_at, count(*) as jobs from inserted i group by i.agent_id
  ), raised as (
    update webhook.endpoints e set due_at = least(e.due_at, d.due_at) from due d where e.agent_id = d.agent_id
    returning d.jobs
  )
  select coalesce(sum(r.jobs), 0) into made from raised r;
  return made;
end
$$;

-- Leases due jobs to one worker: of each endpoint that is due the oldest, as many as it has slots free. The endpoints are
-- locked first and the jobs counted afterwards, by a statement that sees all that was committed before the lock; so the
-- number of slots holds over all workers. Endpoints that another worker is looking at are passed over.
create function webhook.claim(steady_limit bigint, struggling_limit bigint, slots bigint, lease_seconds double precision)
returns table (
  agent_id text, configuration uuid, message_id text, lease uuid, url text, key_id text, sealed bytea, body text,
  expires_at bigint, attempts smallint, struggling boolean
)
language plpgsql as $$
declare
  chosen text[];
begin
  with steady as materialized (
    select e.agent_id from webhook.endpoints e
    where not e.struggling and e.due_at <= clock_timestamp()
    order by e.due_at limit steady_limit for no key update skip locked
  ), struggling as materialized (
    select e.agent_id from webhook.endpoints e
    where e.struggling and e.due_at <= clock_timestamp()
    order by e.due_at limit struggling_limit for no key update skip locked
  )
  select array_agg(c.agent_id) into chosen
  from (select s.agent_id from steady s union all select s.agent_id from struggling s) c;

  if chosen is null then
    return;
  end if;

  return query
    with free as materialized (
      select e.agent_id, e.configuration, e.url, e.key_id, e.sealed, e.struggling,
        slots - (
          select count(*) from webhook.jobs j
          where j.configuration = e.configuration and j.lease is not null and j.due_at > clock_timestamp()
        ) as room
      from webhook.endpoints e where e.agent_id = any (chosen)
    ), taken as materialized (
      select f.agent_id, f.configuration, f.url, f.key_id, f.sealed, f.struggling, d.message_id
      from free f
      cross join lateral (
        select j.message_id from webhook.jobs j
        where j.configuration = f.configuration and j.due_at <= clock_timestamp()
        order by j.due_at limit greatest(f.room, 0)
      ) d
    )
    update webhook.jobs j
    set lease = gen_random_uuid(), due_at = clock_timestamp() + make_interval(secs => lease_seconds)
    from taken t where j.configuration = t.configuration and j.message_id = t.message_id
    returning t.agent_id, j.configuration, j.message_id, j.lease, t.url, t.key_id, t.sealed, j.body, j.expires_at,
      j.attempts, t.struggling;

  update webhook.endpoints e set due_at = case
    when slots <= (
      select count(*) from webhook.jobs j
      where j.configuration = e.configuration and j.lease is not null and j.due_at > clock_timestamp()
    ) then (
      select min(j.due_at) from webhook.jobs j
      where j.configuration = e.configuration and j.lease is not null and j.due_at > clock_timestamp()
    )
    else (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null)
  end
  where e.agent_id = any (chosen);
end
$$;

-- The last look before a connection: those of the jobs that are still held by their claim and belong to the present
-- configuration. Their leases begin anew.
create function webhook.begin_attempts(configurations uuid[], messages text[], leases uuid[], lease_seconds double precision)
returns table (lease uuid)
language sql as $$
  update webhook.jobs j set due_at = clock_timestamp() + make_interval(secs => lease_seconds)
  from unnest(configurations, messages, leases) as u (configuration, message_id, lease), webhook.endpoints e
  where j.configuration = u.configuration and j.message_id = u.message_id and j.lease = u.lease
    and j.due_at > clock_timestamp() and e.agent_id = j.agent_id and e.configuration = j.configuration
  returning j.lease
$$;

-- Records how attempts ended, for jobs that are still held by their claim. Outcomes: `delivered` and `failed` end the job,
-- `retry` counts the attempt and `postponed` does not; both make it due again after so many seconds.
create function webhook.finish(
  agents text[], configurations uuid[], messages text[], leases uuid[], outcomes text[], delays double precision[]
) returns void
language plpgsql as $$
begin
  perform from webhook.endpoints e where e.agent_id = any (agents) order by e.agent_id for no key update;

  with ended as (
    update webhook.jobs j
    set lease = null,
      attempts = j.attempts + (u.outcome <> 'postponed')::integer,
      body = case when u.outcome in ('retry', 'postponed') then j.body end,
      due_at = case when u.outcome in ('retry', 'postponed') then clock_timestamp() + make_interval(secs => u.delay) end,
      ended_at = case when u.outcome in ('delivered', 'failed') then clock_timestamp() end
    from unnest(configurations, messages, leases, outcomes, delays)
      as u (configuration, message_id, lease, outcome, delay)
    where j.configuration = u.configuration and j.message_id = u.message_id and j.lease = u.lease
    returning j.agent_id, j.configuration, u.outcome
  ), counted as (
    select n.agent_id, n.configuration, count(*) filter (where n.outcome = 'failed') as failed,
      count(*) filter (where n.outcome = 'delivered') as delivered,
      count(*) filter (where n.outcome in ('failed', 'retry')) as refused
    from ended n group by n.agent_id, n.configuration
  )
  update webhook.endpoints e
  set failed = e.failed + c.failed,
    struggling = case when c.delivered > 0 then false when c.refused > 0 then true else e.struggling end
  from counted c where e.agent_id = c.agent_id and e.configuration = c.configuration;

  update webhook.endpoints e
  set due_at = (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null)
  where e.agent_id = any (agents);
end
$$;

grant usage on schema webhook to webhook;
-- No delete of endpoints: a revocation is for ever. What a deployment grants by default is taken back first.
revoke all on webhook.endpoints, webhook.jobs, webhook.retired from webhook;
grant select, insert, update on webhook.endpoints to webhook;
grant select, insert, update, delete on webhook.jobs to webhook;
grant select, insert, update, delete on webhook.retired to webhook;
grant execute on function webhook.ingest, webhook.claim, webhook.begin_attempts, webhook.finish to webhook;
