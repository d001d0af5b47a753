-- messaging.find_message, revision 2
-- The stored message with an id, expired or not. It is a function because a query that joins messages by place sets up all
-- partitions each time it runs, and usually there is no message to find.
--
-- In: the id; null: nothing is found.
-- Out: at most one row. hidden: nobody can refer to the message, because it is a hidden post or was taken down.
-- Locks: none.
create or replace function messaging.find_message(id text) returns table (
  place bigint, digest bytea, sender text, recipient text, lane text, thread_id text, hidden boolean, expires_at bigint
) language plpgsql stable strict rows 1 as $$
#variable_conflict use_column
declare
  found_at bigint := messaging.place_of(find_message.id);
begin
  if found_at is not null then
    return query
    select m.place, m.digest, m.sender, m.recipient, m.lane, m.thread_id, m.hidden or m.taken_down, m.expires_at
    from messaging.messages m where m.place = found_at and m.id = find_message.id;
  end if;
end
$$;

grant execute on function messaging.find_message to messaging;
