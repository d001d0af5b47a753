-- webhook.retry_failed, revision 2
-- Makes failed jobs due again, with a full number of attempts, if their configuration is still set and their message has
-- not expired and is not taken down.
--
-- In: an agent and a message, each null for all; the maximum number of jobs; dry_run: only count.
-- Out: how many it made due; with dry_run, how many it would make due.
-- Locks, in order: endpoints by agent_id (no key update), then jobs.
create or replace function webhook.retry_failed(of_agent text, of_message text, at_most bigint, dry_run boolean) returns bigint
language plpgsql as $$
declare
  agents text[];
  made bigint;
begin
  with page as (
    select j.agent_id from webhook.jobs j
    join webhook.endpoints e on e.agent_id = j.agent_id and e.configuration = j.configuration
    where j.ended_at is not null and j.body is not null and j.held is null and j.expires_at > extract(epoch from clock_timestamp())
      and (of_agent is null or j.agent_id = of_agent) and (of_message is null or j.message_id = of_message)
    limit at_most
  )
  select array_agg(distinct p.agent_id), count(*) into agents, made from page p;

  if dry_run or made = 0 then
    return made;
  end if;

  -- Lock the endpoints first, as every writer does; a separate statement then sees their current state.
  perform from webhook.endpoints e where e.agent_id = any (agents) order by e.agent_id for no key update;

  with chosen as materialized (
    select j.configuration, j.message_id from webhook.jobs j
    join webhook.endpoints e on e.agent_id = j.agent_id and e.configuration = j.configuration
    where j.agent_id = any (agents) and j.ended_at is not null and j.body is not null and j.held is null
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
    set failed = greatest(e.failed - c.jobs, 0), due_at = webhook.not_before(least(e.due_at, clock_timestamp()), e.paused_until)
    from counted c where e.agent_id = c.agent_id
    returning c.jobs
  )
  select coalesce(sum(r.jobs), 0) into made from raised r;
  return made;
end
$$;

grant execute on function webhook.retry_failed to webhook;
