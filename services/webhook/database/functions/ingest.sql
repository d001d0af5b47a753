-- webhook.ingest, revision 2
-- Called by the release that test/check/released.json records, and by no later one. Remove this file when that record
-- no longer marks the function as `called`; a numbered file of tables/ then drops it.
--
-- webhook.make_jobs has replaced it. This function does the same, but stores no times of acceptance.
create or replace function webhook.ingest(
  agents text[], cursors bigint[], messages text[], bodies text[], expiries bigint[], delays double precision[]
) returns bigint
language sql as $$
  select webhook.make_jobs(agents, cursors, messages, bodies, expiries, delays, '{}');
$$;

grant execute on function webhook.ingest to webhook;
