-- messaging.append_posts, revision 1
-- Called by the release that test/check/released.json records, and by no later one. Remove this file when that record
-- no longer marks the function as `called`; a numbered file of tables/ then drops it.
--
-- messaging.append_posts_within under its old name. It waits for locks until the statement's own timeout.
--
-- In, out and locks: as messaging.append_posts_within.
create or replace function messaging.append_posts(
  log_ids text[], ids text[], digests text[], senders text[], boards text[], threads text[], envelopes text[],
  expiry_caps bigint[], operations text[], deadlines_ms bigint[], fan_ords bigint[], fan_logs text[],
  retention_seconds double precision, lease_seconds double precision
) returns table (
  ord bigint, outcome text, accepted_at bigint, expires_at bigint, logs text[], positions bigint[], outbox_id bigint
) language sql as $$
  select a.* from messaging.append_posts_within(
    log_ids, ids, digests, senders, boards, threads, envelopes, expiry_caps, operations, deadlines_ms, fan_ords, fan_logs,
    retention_seconds, lease_seconds, null, false
  ) a
$$;

grant execute on function messaging.append_posts to messaging;
