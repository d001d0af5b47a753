-- The open streams of each agent. The migrating role owns every object. The grants to the service's own role are at the
-- end of this file.

-- The processes, and how many more streams each can hold by its own last report.
create table stream.processes (
  id text collate "C" primary key,
  room integer not null,
  seen_at timestamptz not null
);

-- Two slots for each agent, so the primary key enforces the limit of streams (spec 9.8) across all processes. A lease belongs
-- to a process, and lasts as long as the row of its process. So a process renews one row, however many streams it holds, and
-- the leases of a killed process go with its row.
create table stream.leases (
  agent_id text collate "C" not null,
  slot smallint not null check (slot between 1 and 2),
  id uuid not null unique, -- releaseLeases
  process text collate "C" not null references stream.processes (id) on delete cascade,
  primary key (agent_id, slot) -- takeLease
);
create index leases_of_process on stream.leases (process); -- listLeases, removal of a process

grant usage on schema stream to stream;
-- First, revoke the default privileges of the deployment.
revoke all on stream.leases, stream.processes from stream;
grant select, insert, update, delete on stream.leases, stream.processes to stream;
