-- messaging.erase_messages, revision 1
-- Deletes messages that an agent sent or received, with their entries and votes. The positions of the entries count as skipped,
-- so that the books of their logs stay right. The ids stay taken.
--
-- In: the agent; the most messages.
-- Out: how many it deleted.
-- Locks, in order: the logs of the entries by id (no key update), then the rows.
create or replace function messaging.erase_messages(agent text, at_most integer) returns bigint
language plpgsql as $$
declare
  places bigint[];
  log_ids text[];
begin
  places := array(
    select p.place from (
      (select m.place from messaging.messages m where m.sender = agent limit at_most)
      union
      (select m.place from messaging.messages m where m.recipient = agent limit at_most)
    ) p limit at_most
  );
  -- The log of the recipient, or of the board; for a post also the logs of its subscribers.
  log_ids := array(
    select m.recipient from messaging.messages m where m.place = any (places)
    union
    select e.log from messaging.entries e where e.message = any (places) and e.kind = 'board'
  );
  perform from messaging.logs l where l.id = any (log_ids) order by l.id for no key update;

  with gone as materialized (
    delete from messaging.messages m where m.place = any (places)
    returning m.place, m.recipient, m.lane, m.hidden, m.position, m.request_position
  ), left_out as (
    delete from messaging.entries e using gone g
    where e.message = g.place and (
      (g.lane = 'board' and e.kind = 'board')
      or (e.log = g.recipient and e.kind in ('inbox', 'requests') and e.position in (g.position, g.request_position))
    )
    returning e.log
  ), unvoted as (
    delete from messaging.votes v where v.message = any (places)
  ), skipped as (
    select s.log, count(*) as positions from (
      select o.log from left_out o
      union all
      -- A hidden post has no entry in its board's log.
      select g.recipient from gone g where g.lane = 'board' and g.hidden
    ) s group by s.log
  )
  update messaging.logs l set skipped = l.skipped + s.positions from skipped s where l.id = s.log;
  return cardinality(places);
end
$$;

grant execute on function messaging.erase_messages to messaging;
