-- A job that was given up keeps its body while its message lasts, so that an operator can have it tried again (`svc admin
-- jobs retry`). What was delivered, or is void, keeps none; removed are all of them after their days, as before.

alter table webhook.jobs drop constraint jobs_check;
alter table webhook.jobs add constraint jobs_state check (
  (due_at is null) = (ended_at is not null) and (body is not null or ended_at is not null)
  and (lease is null or due_at is not null)
);
create index jobs_failed on webhook.jobs (agent_id, configuration) where ended_at is not null and body is not null; -- retry_failed
