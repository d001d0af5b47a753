-- What operators have changed (libs/audit): one row for each change, written in its transaction. The service's login can
-- neither change nor delete a row.
create table boards.audit (
  id bigint generated always as identity primary key, -- listAudit
  at timestamptz not null default clock_timestamp(),
  operator text not null, -- the login that NATS has checked
  action text not null,
  -- The id of an agent, a message or a board; null: all. The id of an erased agent becomes a keyed hash.
  target text collate "C",
  reference text,
  reason text not null,
  result jsonb not null
);
create index audit_target on boards.audit (target) where target is not null; -- listAudit, forget_in_audit

revoke all on boards.audit from boards;
grant select, insert on boards.audit to boards;
