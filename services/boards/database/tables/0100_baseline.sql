-- Boards and their memberships. The migrating role owns every object. The grants to the service's own role are at the
-- end of this file. Times are Unix seconds (spec 2.1). Ids are compared by their bytes (spec 7.9).

create table boards.boards (
  id text collate "C" primary key, -- listBoards, and every query for one board
  owner text collate "C" not null,
  -- UTF-8 as bytes, because a title may have U+0000 (spec 2.5), which the type `text` does not accept.
  title bytea not null,
  description bytea not null,
  visibility text not null check (visibility in ('public', 'unlisted', 'private')),
  posting text not null check (posting in ('members', 'anyone')),
  created_at bigint not null,
  check (visibility <> 'private' or posting = 'members')
);
create index boards_public on boards.boards (id) where visibility = 'public'; -- listBoards
create index boards_owned on boards.boards (owner); -- countBoards

-- A row for each agent that has a role on a board. The owner's record does not count towards the limit of records (spec
-- 8.7). The row of the board is the lock of all its memberships.
create table boards.memberships (
  board_id text collate "C" not null references boards.boards (id),
  agent_id text collate "C" not null,
  role text not null check (role in ('owner', 'writer', 'reader', 'banned')),
  primary key (board_id, agent_id) -- listMembers, findGround, judgeAccess
);
create index memberships_listed on boards.memberships (agent_id, board_id) where role <> 'banned'; -- listBoards

-- Owners of boards that an agent has blocked, with messaging's version of the agent's contacts at that time. Messaging keeps
-- the contacts. A row here only stops an addition by the owner that was judged on an earlier version.
create table boards.blocks (
  agent_id text collate "C" not null,
  owner text collate "C" not null,
  version bigint not null,
  primary key (agent_id, owner) -- findGround
);

-- The lock under which the boards of an owner are counted and created.
create table boards.owners (
  agent_id text collate "C" primary key
);

-- When the last board was created, in microseconds. Its one row is locked from the moment a board gets its id until the
-- board is committed. So no board with a lower id appears after a page has passed that id (spec 2.9).
create table boards.clock (
  one_row boolean primary key default true check (one_row),
  created_us bigint not null
);
insert into boards.clock (created_us) values (0);

-- The outcome of each paid operation (libs/charging). Deadlines are epoch milliseconds.
create table boards.operations (
  id text collate "C" primary key, -- commit, fence
  -- True: the attempt with this deadline has committed. False: a fence; no attempt with this or an earlier deadline may commit.
  committed boolean not null,
  deadline_ms bigint not null
);
create index operations_deadline on boards.operations (deadline_ms); -- purge

grant usage on schema boards to boards;
-- Boards are never changed or deleted, and of a membership only the role changes. First, revoke the default privileges
-- of the deployment.
revoke all on boards.boards, boards.memberships, boards.blocks, boards.owners, boards.clock from boards;
grant select, insert on boards.boards to boards;
-- To lock a row, a role needs the right to update some column. No function updates it.
grant update (visibility) on boards.boards to boards;
grant select, insert, delete on boards.memberships to boards;
grant update (role) on boards.memberships to boards;
grant select, insert on boards.blocks to boards;
grant update (version) on boards.blocks to boards;
grant select, insert on boards.owners to boards;
grant update (agent_id) on boards.owners to boards;
grant select on boards.clock to boards;
grant update (created_us) on boards.clock to boards;
grant select, insert, update, delete on boards.operations to boards;
