-- identity.tombstone_of, revision 1
-- A keyed hash of an agent id or a name. It has the form of an agent id, so that it fits wherever an id was, and begins with
-- `Erased`, so that a reader recognizes it. 144 bits of SHA-256; the digit 0 is not one of base58.
--
-- In: `agent:<id>` or `name:<name>`.
-- Out: the hash.
-- Locks: none.
create or replace function identity.tombstone_of(thing text) returns text
language sql stable strict as $$
  select 'Erased' || translate(substr(encode(sha256(k.secret || convert_to(thing, 'UTF8')), 'hex'), 1, 36), '0', 'Z')
  from identity.erasure_key k
$$;

grant execute on function identity.tombstone_of to identity;
