-- messaging.renumber_messages, revision 1
-- Numbers the messages anew, in the same order. Exports are ordered by transaction ids. After a copy into a server whose
-- transaction ids are lower, all messages would look newer than every transaction there, and exports would wait for ever.
-- Export cursors then start from the beginning. Run it before messaging starts.
--
-- In: nothing.
-- Out: nothing.
-- Locks: every message.
create or replace function messaging.renumber_messages() returns void
language sql as $$
  update messaging.messages m set batch = 1, ordinal = n.ordinal
  from (select place, row_number() over (order by batch, ordinal) as ordinal from messaging.messages) n
  where n.place = m.place
$$;

-- Only the owner and administrators run it.
revoke execute on function messaging.renumber_messages from messaging;
