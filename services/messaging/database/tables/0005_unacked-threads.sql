-- listInbox unacked, by thread: neither messages_unacked nor entries_thread finds the few that are both.
create index messages_unacked_thread on messaging.messages (recipient, thread_id, lane, position)
  where not acked and lane <> 'board' and thread_id is not null;
