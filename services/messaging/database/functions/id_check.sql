-- messaging.id_check, revision 1
-- The bits that messaging.ids keeps of a message: 40 for its digest and 24 for its sender (ADR 29). A fence knows only the
-- digest, and compares the bits above the lowest 24.
--
-- In: the digest; the sender; the secret of messaging.id_secret.
-- Out: the check.
-- Locks: none.
create or replace function messaging.id_check(digest bytea, sender text, secret bytea) returns bigint
language sql stable strict as $$
  select ('x' || encode(
    substr(sha256(secret || digest), 1, 5) || substr(sha256(secret || convert_to(sender, 'UTF8')), 1, 3), 'hex'
  ))::bit(64)::bigint
$$;

grant execute on function messaging.id_check to messaging;
