-- webhook.end_attempts, revision 2
-- Records how attempts ended, for jobs that are still held by their claim.
--
-- In: parallel arrays, one attempt at each index. outcomes: `delivered` and `failed` end the job, `retry` counts the
--   attempt and `postponed` does not; both make the job due again after `delays` seconds. slow: whether the attempt took
--   long, whatever its outcome. A slow answer counts as a failure does. An endpoint stops being struggling after `proof`
--   quick deliveries in a row. errors: why an attempt failed, in words; null if it did not, or if an earlier reason says more.
-- Out: nothing.
-- Locks, in order: endpoints by agent_id (no key update), then jobs.
--
-- A job that was given up keeps its body, so that an operator can have it tried again (retry_failed).
create or replace function webhook.end_attempts(
  agents text[], configurations uuid[], messages text[], leases uuid[], outcomes text[], delays double precision[],
  slow boolean[], errors text[]
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
    from unnest(configurations, messages, leases, outcomes, delays, slow, errors)
      as u (configuration, message_id, lease, outcome, delay, slow, error)
    where j.configuration = u.configuration and j.message_id = u.message_id and j.lease = u.lease
    returning j.agent_id, j.configuration, u.outcome, u.slow, u.error
  ), counted as (
    select n.agent_id, n.configuration, count(*) filter (where n.outcome = 'failed') as failed,
      count(*) filter (where n.outcome = 'delivered' and not n.slow) as quick,
      count(*) filter (where n.outcome in ('failed', 'retry') or n.slow) as bad,
      max(n.error) as error
    from ended n group by n.agent_id, n.configuration
  )
  update webhook.endpoints e
  set failed = e.failed + c.failed,
    to_prove = case when c.bad > 0 then proof else greatest(e.to_prove - c.quick, 0) end,
    struggling = case when c.bad > 0 then true when c.quick > 0 then e.to_prove > c.quick else e.struggling end,
    proven = case when c.bad > 0 then null when c.quick > 0 then c.configuration else e.proven end,
    last_error = coalesce(c.error, e.last_error),
    last_error_at = case when c.error is null then e.last_error_at else clock_timestamp() end
  from counted c where e.agent_id = c.agent_id and e.configuration = c.configuration;

  update webhook.endpoints e
  set due_at = webhook.not_before(
    (select min(j.due_at) from webhook.jobs j where j.configuration = e.configuration and j.due_at is not null), e.paused_until
  )
  where e.agent_id = any (agents);
end
$$;

grant execute on function webhook.end_attempts to webhook;
