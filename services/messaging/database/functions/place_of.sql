-- messaging.place_of, revision 1
-- The place of the message with an id, live or purged. Queries must compare the id too, because the place is found by a hash.
--
-- In: the id.
-- Out: the place; null: the id was never taken.
-- Locks: none.
create or replace function messaging.place_of(id text) returns bigint
language plpgsql stable strict as $$
begin
  return (
    select i.place >> 2 from messaging.ids i
    where i.key = messaging.id_key(place_of.id, (select s.secret from messaging.id_secret s))
  );
end
$$;

grant execute on function messaging.place_of to messaging;
