-- Webhooks and their deliveries. Owner of every object: the migrating role; the service's own role gets what it uses at
-- the end. Ids are compared by their bytes.

-- A row for each agent that has ever set a webhook, or was revoked. The row is the lock of the agent's webhook and its
-- jobs: a transaction that writes both locks this row first.
create table webhook.endpoints (
  agent_id text collate "C" primary key, -- make_jobs, begin_attempts, findEndpoint
  -- A new id for every change; null: no webhook is set.
  configuration uuid,
  url text,
  -- The host of the URL. It has a limited share of a worker's requests, however many endpoints it has.
  host text collate "C"
    generated always as (rtrim(lower(substring(url from '^[^/]*//(\[[^]]*\]|[^:/?#]*)')), '.')) stored,
  -- The secret, encrypted with the key of this id.
  key_id text,
  sealed bytea,
  -- Events up to this cursor are older than the configuration.
  after_cursor bigint not null default 0,
  -- Each inbox entry of the agent's log up to the greater of `after_cursor` and this position has a job or needs none. Jobs for
  -- events that JetStream lost are made from the entries after it (ADR 13).
  reconciled bigint not null default 0,
  -- Jobs of the configuration that were given up.
  failed bigint not null default 0,
  -- At or before the time when a claim finds work: a job is due and a slot is free, or a lease ends. Null: nothing is pending.
  due_at timestamptz,
  -- True from an attempt that failed or was slow until enough quick deliveries in a row (`to_prove`). A worker has a limited
  -- number of requests in progress to struggling endpoints.
  struggling boolean not null default false,
  -- How many quick deliveries in a row a struggling endpoint still needs.
  to_prove smallint not null default 0,
  -- The configuration, if its last delivery was quick and no attempt has failed or was slow since.
  proven uuid,
  -- Each standing has its own limit of requests to a host. So proven endpoints do not compete with endpoints that are not
  -- proven.
  standing text collate "C" generated always as (
    case when struggling then 'struggling' when proven = configuration then 'proven' else 'new' end
  ) stored,
  -- A revocation is for ever (spec 5.11).
  revoked boolean not null default false,
  -- Why the last attempt that failed did so, in words for the operator (`svc admin jobs`). Null: no attempt of the configuration
  -- has failed. It names the kind of failure, and nothing of the URL or of the answer except a status.
  last_error text,
  last_error_at timestamptz,
  check ((configuration is null) = (url is null) and (url is null) = (key_id is null) and (key_id is null) = (sealed is null))
);
create index endpoints_due on webhook.endpoints (struggling, due_at) where due_at is not null; -- claim_fairly, measure
-- listSealedOtherwise: reads secrets in order, so that secrets that cannot be opened do not delay the others.
create index endpoints_sealed on webhook.endpoints (key_id, agent_id) where key_id is not null;
create index endpoints_configured on webhook.endpoints (agent_id) where configuration is not null; -- listPositions

-- A job is a message for a configuration. After it has ended, its row stays for days, so that a repeated event makes no second
-- job.
create table webhook.jobs (
  configuration uuid not null,
  message_id text collate "C" not null,
  agent_id text collate "C" not null,
  -- The text of the envelope as it was received (spec: exact_body_bytes). A failed job keeps it until its message expires, so
  -- that an operator can retry the job (`svc admin jobs retry`). Delivered and void jobs keep none.
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
  -- The traceparent of the request that caused the job, if it is traced. Deliveries in any process continue this trace.
  traceparent text,
  -- When the message was accepted, Unix milliseconds, for metrics.
  accepted_ms bigint not null,
  primary key (configuration, message_id), -- make_jobs, begin_attempts, end_attempts
  constraint jobs_state check (
    (due_at is null) = (ended_at is not null) and (body is not null or ended_at is not null)
    and (lease is null or due_at is not null)
  )
);
create index jobs_due on webhook.jobs (configuration, due_at) where due_at is not null; -- claim_fairly, end_attempts, findEndpoint
create index jobs_leased on webhook.jobs (configuration, due_at) where lease is not null; -- count_leased, first_lease_end
create index jobs_ended on webhook.jobs (ended_at) where ended_at is not null; -- purgeJobs
create index jobs_failed on webhook.jobs (agent_id, configuration) where ended_at is not null and body is not null; -- retry_failed

-- Configurations that were changed or deleted: their jobs are void from then on, and removed bit by bit.
create table webhook.retired (
  configuration uuid primary key
);

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

-- The outcome of each paid operation (libs/charging). Deadlines are epoch milliseconds.
create table webhook.operations (
  id text collate "C" primary key, -- commit, fence
  -- True: the attempt with this deadline has committed. False: a fence; no attempt with this or an earlier deadline may commit.
  committed boolean not null,
  deadline_ms bigint not null
);
create index operations_deadline on webhook.operations (deadline_ms); -- purge

grant usage on schema webhook to webhook;
-- No delete of endpoints: a revocation is for ever. First, revoke the default privileges of the deployment.
revoke all on webhook.endpoints, webhook.jobs, webhook.retired, webhook.reconciliation from webhook;
grant select, insert, update on webhook.endpoints to webhook;
grant select, insert, update, delete on webhook.jobs to webhook;
grant select, insert, update, delete on webhook.retired to webhook;
grant select, update on webhook.reconciliation to webhook;
grant select, insert, update, delete on webhook.operations to webhook;
