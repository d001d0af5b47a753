-- Webhooks and their deliveries. The migrating role owns every object. The grants to the service's own role are at the
-- end of this file. Ids are compared by their bytes.

-- A row for each agent that has ever set a webhook, or was revoked. The row is the lock of the agent's webhook and its
-- jobs: a transaction that writes both locks this row first.
create table webhook.endpoints (
  agent_id text collate "C" primary key, -- ingest, begin_attempts, findEndpoint
  -- A new id for every change; null: no webhook is set.
  configuration uuid,
  url text,
  -- The secret, encrypted with the key of this id.
  key_id text,
  sealed bytea,
  -- Events up to this cursor are older than the configuration.
  after_cursor bigint not null default 0,
  -- Jobs of the configuration that were given up.
  failed bigint not null default 0,
  -- No claim finds work before this time: until then no job is due with a free slot, and no lease ends. Null: nothing
  -- is pending.
  due_at timestamptz,
  -- The last attempt failed. A worker has a limited number of requests in progress to struggling endpoints.
  struggling boolean not null default false,
  -- A revocation is for ever (spec 5.11).
  revoked boolean not null default false,
  check ((configuration is null) = (url is null) and (url is null) = (key_id is null) and (key_id is null) = (sealed is null))
);
create index endpoints_due on webhook.endpoints (struggling, due_at) where due_at is not null; -- claim, measure
create index endpoints_key on webhook.endpoints (key_id) where key_id is not null; -- listSealedOtherwise

-- A job is a message for a configuration. After it has ended, its row stays for days, without the body, so that a repeated
-- event makes no second job.
create table webhook.jobs (
  configuration uuid not null,
  message_id text collate "C" not null,
  agent_id text collate "C" not null,
  -- The text of the envelope as it was received (spec: exact_body_bytes); null when the job has ended.
  body text,
  -- When the message expires, Unix seconds.
  expires_at bigint not null,
  -- How many attempts have ended.
  attempts smallint not null default 0,
  -- When the next attempt is due; while a worker holds the job, when its lease ends; null when the job has ended.
  due_at timestamptz,
  -- The claim that holds the job.
  lease uuid,
  ended_at timestamptz,
  primary key (configuration, message_id), -- ingest, begin_attempts, finish
  check ((due_at is null) = (body is null) and (due_at is null) = (ended_at is not null) and (lease is null or due_at is not null))
);
create index jobs_due on webhook.jobs (configuration, due_at) where due_at is not null; -- claim, finish, findEndpoint
create index jobs_leased on webhook.jobs (configuration, due_at) where lease is not null; -- claim
create index jobs_ended on webhook.jobs (ended_at) where ended_at is not null; -- purgeJobs

-- Configurations that were changed or deleted: their jobs are void from then on, and removed bit by bit.
create table webhook.retired (
  configuration uuid primary key
);

grant usage on schema webhook to webhook;
-- No delete of endpoints: a revocation is for ever. First, revoke the default privileges of the deployment.
revoke all on webhook.endpoints, webhook.jobs, webhook.retired from webhook;
grant select, insert, update on webhook.endpoints to webhook;
grant select, insert, update, delete on webhook.jobs to webhook;
grant select, insert, update, delete on webhook.retired to webhook;
