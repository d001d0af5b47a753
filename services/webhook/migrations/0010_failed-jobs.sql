-- A job that was given up keeps its body while its message lasts, so that an operator can have it tried again (`svc admin
-- jobs retry`). What was delivered, or is void, keeps none; removed are all of them after their days, as before.

alter table webhook.jobs drop constraint jobs_check;
alter table webhook.jobs add constraint jobs_state check (
  (due_at is null) = (ended_at is not null) and (body is not null or ended_at is not null)
  and (lease is null or due_at is not null)
);
create index jobs_failed on webhook.jobs (agent_id, configuration) where ended_at is not null and body is not null; -- retry_failed

-- As before, but for the body.
create or replace function webhook.finish(
  agents text[], configurations uuid[], messages text[], leases uuid[], outcomes text[], delays double precision[]
) returns void
language plpgsql as $$
begin
  perform from webhook.endpoints e where e.agent_id = any (agents) order by e.agent_id for no key update;

  with ended as (
    update webhook.jobs j
    set lease = null,
      attempts = j.attempts + (u.outcome <> 'postponed')::integer,
      body = case when u.outcome <> 'delivered' then j.body end,
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

-- Makes jobs that were given up due again, with all of their attempts: of present configurations, of messages that have not
-- expired. Answers how many it made, or would have made.
create function webhook.retry_failed(of_agent text, of_message text, at_most bigint, dry_run boolean) returns bigint
language plpgsql as $$
declare
  agents text[];
  made bigint;
begin
  with page as (
    select j.agent_id from webhook.jobs j
    join webhook.endpoints e on e.agent_id = j.agent_id and e.configuration = j.configuration
    where j.ended_at is not null and j.body is not null and j.expires_at > extract(epoch from clock_timestamp())
      and (of_agent is null or j.agent_id = of_agent) and (of_message is null or j.message_id = of_message)
    limit at_most
  )
  select array_agg(distinct p.agent_id), count(*) into agents, made from page p;

  if dry_run or made = 0 then
    return made;
  end if;

  -- First the endpoints, as everybody does; a statement of its own then sees what has become of them.
  perform from webhook.endpoints e where e.agent_id = any (agents) order by e.agent_id for no key update;

  with chosen as materialized (
    select j.configuration, j.message_id from webhook.jobs j
    join webhook.endpoints e on e.agent_id = j.agent_id and e.configuration = j.configuration
    where j.agent_id = any (agents) and j.ended_at is not null and j.body is not null
      and j.expires_at > extract(epoch from clock_timestamp()) and (of_message is null or j.message_id = of_message)
    limit at_most
  ), retried as (
    update webhook.jobs j set attempts = 0, ended_at = null, due_at = clock_timestamp()
    from chosen c where j.configuration = c.configuration and j.message_id = c.message_id
    returning j.agent_id
  ), counted as (
    select r.agent_id, count(*) as jobs from retried r group by r.agent_id
  ), raised as (
    update webhook.endpoints e
    set failed = greatest(e.failed - c.jobs, 0), due_at = least(e.due_at, clock_timestamp())
    from counted c where e.agent_id = c.agent_id
    returning c.jobs
  )
  select coalesce(sum(r.jobs), 0) into made from raised r;
  return made;
end
$$;

grant execute on function webhook.finish, webhook.retry_failed to webhook;
