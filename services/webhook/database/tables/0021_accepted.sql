-- When the message of a job was accepted, Unix milliseconds, for metrics. Null: the job is older than this column.
alter table webhook.jobs add column accepted_ms bigint;
