-- After a restore, heads are raised above every cursor that a client may have seen (raise_heads). The books need to know how
-- many positions were skipped, or they would report the missing entries for ever.

-- The positions at or below the head that were never assigned.
alter table messaging.logs add column skipped bigint not null default 0;

-- One row for each raise of all heads. A log that is opened later begins at the sum, because its agent may have had a log in
-- the time that a restore took back.
create table messaging.raises (
  reference text collate "C" primary key, -- raise_heads
  raised_by bigint not null check (raised_by > 0),
  -- The last log that was raised, in the order of ids. Null: all logs were raised.
  through text collate "C" default '',
  logs bigint not null default 0
);
revoke all on messaging.raises from messaging;
grant select, insert, update on messaging.raises to messaging;
