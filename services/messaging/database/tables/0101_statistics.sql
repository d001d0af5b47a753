-- No query has a condition on these columns that a plan could use statistics for. The elements of the arrays of the outbox are the
-- positions and places of all messages: collecting their statistics took more time than those of all other tables.
alter table messaging.outbox alter column logs set statistics 0, alter column kinds set statistics 0,
  alter column positions set statistics 0, alter column places set statistics 0;
alter table messaging.messages alter column id set statistics 0, alter column digest set statistics 0,
  alter column envelope set statistics 0;
