-- webhook.begin_attempts, revision 3
-- The last check before a connection is opened. Renews the lease of each job that its claim still holds and that belongs to
-- the current configuration, unless the endpoint was paused meanwhile.
--
-- In: parallel arrays, one job at each index.
-- Out: the renewed leases.
-- Locks: the jobs, in no particular order. Only the holder of a lease begins its attempt, so two calls share no job.
create or replace function webhook.begin_attempts(configurations uuid[], messages text[], leases uuid[], lease_seconds double precision)
returns table (lease uuid)
language sql as $$
  update webhook.jobs j set due_at = clock_timestamp() + make_interval(secs => lease_seconds)
  from unnest(configurations, messages, leases) as u (configuration, message_id, lease), webhook.endpoints e
  where j.configuration = u.configuration and j.message_id = u.message_id and j.lease = u.lease
    and j.due_at > clock_timestamp() and e.agent_id = j.agent_id and e.configuration = j.configuration
    and (e.paused_until is null or e.paused_until <= clock_timestamp())
  returning j.lease
$$;

grant execute on function webhook.begin_attempts to webhook;
