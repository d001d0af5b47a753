-- messaging.append, revision 1
-- Called by the release that test/check/released.json records, and by no later one. Remove this file when that record
-- no longer marks the function as `called`; a numbered file of tables/ then drops it.
--
-- messaging.append_within under its old name. It waits for locks until the statement's own timeout.
--
-- In: as messaging.append_within, without the ground of the decision (policies, contacts): any other version of the
--   standing is stale. Out and locks: as messaging.append_within.

-- An overload that no recorded release calls.
drop function if exists messaging.append(
  text[], text[], text[], text[], text[], text[], text[], text[], bigint[], bigint[], text[], bigint[], double precision,
  double precision, text[], text[]
);

create or replace function messaging.append(
  log_ids text[], ids text[], digests text[], senders text[], recipients text[], lanes text[], threads text[],
  envelopes text[], expiry_caps bigint[], standings bigint[], operations text[], deadlines_ms bigint[],
  retention_seconds double precision, lease_seconds double precision
) returns table (
  ord bigint, outcome text, lane text, "position" bigint, accepted_at bigint, expires_at bigint, outbox_id bigint
) language sql as $$
  select a.* from messaging.append_within(
    log_ids, ids, digests, senders, recipients, lanes, threads, envelopes, expiry_caps, standings, operations, deadlines_ms,
    retention_seconds, lease_seconds, null, null, null, false
  ) a
$$;

grant execute on function messaging.append to messaging;
