-- messaging.id_key, revision 1
-- The key of a message id in messaging.ids: 128 bits of SHA-256 over the installation's secret and the id (ADR 29).
--
-- In: the id; the secret of messaging.id_secret.
-- Out: the key.
-- Locks: none.
create or replace function messaging.id_key(id text, secret bytea) returns uuid
language sql stable strict as $$
  select encode(substr(sha256(secret || convert_to(id, 'UTF8')), 1, 16), 'hex')::uuid
$$;

grant execute on function messaging.id_key to messaging;
