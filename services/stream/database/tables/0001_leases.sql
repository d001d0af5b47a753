-- The open streams of each agent. The migrating role owns every object. The grants to the service's own role are at the
-- end of this file.

-- Two slots for each agent, so the primary key enforces the limit of streams (spec 9.8) across all processes. Any process
-- may take an expired lease.
create table stream.leases (
  agent_id text collate "C" not null,
  slot smallint not null check (slot between 1 and 2),
  id uuid not null unique, -- renewLeases, releaseLeases
  expires_at timestamptz not null,
  primary key (agent_id, slot) -- takeLease
);
create index leases_expired on stream.leases (expires_at); -- purgeLeases

-- The processes, and how many more streams each can hold by its own last report.
create table stream.processes (
  id text collate "C" primary key,
  room integer not null,
  seen_at timestamptz not null
);

grant usage on schema stream to stream;
revoke all on stream.leases, stream.processes from stream;
grant select, insert, update, delete on stream.leases, stream.processes to stream;
