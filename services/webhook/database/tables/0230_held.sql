-- The message was taken down (spec 12.4), so the job waits, however long. What the job was before: `pending`, or `failed` and kept
-- for a retry. Null: the job is not held. A held job has ended, so that no worker takes it; it is forgotten as other jobs are.
alter table webhook.jobs add column held text check (held in ('pending', 'failed'));
