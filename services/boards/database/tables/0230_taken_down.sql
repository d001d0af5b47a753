-- An operator has taken the board down (spec 12.4): nobody finds it any more, its owner included. It still counts towards the
-- limit of its owner's boards.
alter table boards.boards add column taken_down boolean not null default false;
grant update (taken_down) on boards.boards to boards;
