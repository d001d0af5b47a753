-- The position up to which each inbox entry of the agent's log has a job or needs none. Jobs for events that JetStream
-- lost are made from the entries after this position (docs/adr/0013-what-jetstream-forgot-is-made-up-from-the-logs.md).

-- Null for endpoints of earlier releases. They begin at the head of their log at the first comparison, because earlier jobs
-- may have been removed already and would be made again. JetStream delivers everything that was accepted before.
alter table webhook.endpoints add column reconciled bigint;
alter table webhook.endpoints alter column reconciled set default 0;
create index endpoints_configured on webhook.endpoints (agent_id) where configuration is not null; -- listPositions

-- One row: a round goes through all endpoints with a webhook, page by page. The process with the lease does the next page.
create table webhook.reconciliation (
  the_only boolean primary key default true check (the_only),
  -- The last agent of the previous page; '' at the beginning of a round.
  place text collate "C" not null default '',
  -- When the round began.
  begun_at timestamptz not null default clock_timestamp(),
  -- Every endpoint before this place in the round has all jobs of its log.
  complete boolean not null default true,
  -- The beginning of the last complete round: messages accepted before it are jobs, or need none.
  covered_to timestamptz not null default clock_timestamp(),
  -- When the next page is due; while a process works on one, when its lease ends.
  due_at timestamptz not null default clock_timestamp(),
  lease uuid
);
insert into webhook.reconciliation default values;

revoke all on webhook.reconciliation from webhook;
grant select, update on webhook.reconciliation to webhook;
