-- An operator has taken the message down (spec 12.4): no client finds it any more, its sender and its recipient included.
-- It keeps its entries, which are skipped. Separate from `hidden`, so that the owner of a board cannot undo it.
alter table messaging.messages add column taken_down boolean not null default false;
