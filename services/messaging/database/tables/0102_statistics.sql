-- Plans do not depend on statistics of these columns: messages are found by place, and outbox rows by id or lease. The arrays of the
-- outbox have an element for each message, and collecting their statistics took longer than for any other table.
alter table messaging.outbox alter column logs set statistics 0, alter column kinds set statistics 0,
  alter column positions set statistics 0, alter column places set statistics 0;
alter table messaging.messages alter column id set statistics 0, alter column digest set statistics 0,
  alter column envelope set statistics 0;
