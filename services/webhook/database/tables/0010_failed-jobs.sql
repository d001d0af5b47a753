-- A failed job keeps its body until its message expires, so that an operator can retry it (`svc admin jobs retry`). Delivered
-- and void jobs keep no body. All ended jobs are removed after some days, as before.

alter table webhook.jobs drop constraint jobs_check;
alter table webhook.jobs add constraint jobs_state check (
  (due_at is null) = (ended_at is not null) and (body is not null or ended_at is not null)
  and (lease is null or due_at is not null)
);
create index jobs_failed on webhook.jobs (agent_id, configuration) where ended_at is not null and body is not null; -- retry_failed
