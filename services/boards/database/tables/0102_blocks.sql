-- Owners of boards that an agent has blocked, with messaging's version of the agent's contacts at that time. Messaging keeps
-- the contacts. A row here only stops an addition by the owner that was judged on an earlier version.
create table boards.blocks (
  agent_id text collate "C" not null,
  owner text collate "C" not null,
  version bigint not null,
  primary key (agent_id, owner) -- findGround
);

grant select, insert on boards.blocks to boards;
grant update (version) on boards.blocks to boards;
