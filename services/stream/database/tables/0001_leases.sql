-- Who has which stream open. Owner of every object: the migrating role; the service's own role gets what it uses at the end.

-- Two slots for each agent, so the limit of spec 9.8 is the primary key's to keep, over any number of processes. A
-- lease that has run out is anybody's to take.
create table stream.leases (
  agent_id text collate "C" not null,
  slot smallint not null check (slot between 1 and 2),
  id uuid not null unique, -- renewLeases, releaseLeases
  expires_at timestamptz not null,
  primary key (agent_id, slot) -- takeLease
);
create index leases_expired on stream.leases (expires_at); -- purgeLeases

-- Processes and how many more streams each can hold, as each of them said last.
create table stream.processes (
  id text collate "C" primary key,
  room integer not null,
  seen_at timestamptz not null
);

grant usage on schema stream to stream;
revoke all on stream.leases, stream.processes from stream;
grant select, insert, update, delete on stream.leases, stream.processes to stream;
