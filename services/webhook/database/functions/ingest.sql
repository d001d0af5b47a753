-- webhook.ingest, revision 2
-- Called by the release that test/check/released.json records, and by no later one. This file goes when that record does
-- not say `called` of it any more; a numbered file of tables/ then drops the function.
--
-- As webhook.make_jobs, which took its place, without the times of acceptance.
create or replace function webhook.ingest(
  agents text[], cursors bigint[], messages text[], bodies text[], expiries bigint[], delays double precision[]
) returns bigint
language sql as $$
  select webhook.make_jobs(agents, cursors, messages, bodies, expiries, delays, '{}');
$$;

grant execute on function webhook.ingest to webhook;
