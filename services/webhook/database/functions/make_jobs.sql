-- webhook.make_jobs, revision 2
-- Makes jobs from events, for agents whose webhook is older than the event.
--
-- In: arrays in parallel, one event at each index; delays: seconds to the first attempt; accepted_ms: Unix milliseconds.
-- Out: how many jobs it made. It makes none from a repeated event or an expired message. The held job of a message that was taken
--   down stays held.
-- Locks, in order: endpoints by agent_id (no key update), then jobs.
create or replace function webhook.make_jobs(
  agents text[], cursors bigint[], messages text[], bodies text[], expiries bigint[], delays double precision[],
  accepted_ms bigint[]
) returns bigint
language plpgsql as $$
declare
  made bigint;
begin
  perform from webhook.endpoints e
  where e.agent_id = any (agents) and e.configuration is not null
  order by e.agent_id for no key update;

  -- If a message is taken down before its event comes, its held job has no body (store/held-jobs.ts). The job gets it here.
  update webhook.jobs j set body = u.body, expires_at = u.expires_at, accepted_ms = u.accepted_ms
  from unnest(agents, cursors, messages, bodies, expiries, make_jobs.accepted_ms)
    as u (agent_id, cursor, message_id, body, expires_at, accepted_ms)
  join webhook.endpoints e on e.agent_id = u.agent_id
  where j.configuration = e.configuration and j.message_id = u.message_id and j.held is not null and j.body is null
    and u.cursor > e.after_cursor;

  with inserted as (
    insert into webhook.jobs as j (configuration, message_id, agent_id, body, expires_at, accepted_ms, due_at)
    select e.configuration, u.message_id, u.agent_id, u.body, u.expires_at, u.accepted_ms,
      clock_timestamp() + make_interval(secs => u.delay)
    from unnest(agents, cursors, messages, bodies, expiries, delays, accepted_ms)
      as u (agent_id, cursor, message_id, body, expires_at, delay, accepted_ms)
    join webhook.endpoints e on e.agent_id = u.agent_id
    where e.configuration is not null and u.cursor > e.after_cursor
      and u.expires_at > extract(epoch from clock_timestamp())
    on conflict (configuration, message_id) do nothing
    returning j.agent_id, j.due_at
  ), due as (
    select i.agent_id, min(i.due_at) as due_at, count(*) as jobs from inserted i group by i.agent_id
  ), raised as (
    update webhook.endpoints e set due_at = webhook.not_before(least(e.due_at, d.due_at), e.paused_until)
    from due d where e.agent_id = d.agent_id
    returning d.jobs
  )
  select coalesce(sum(r.jobs), 0) into made from raised r;
  return made;
end
$$;

grant execute on function webhook.make_jobs to webhook;
