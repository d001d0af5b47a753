-- Why the last attempt that failed did so, in words for the operator (`svc admin jobs`). Null: no attempt of the configuration has
-- failed. It names the kind of failure, and nothing of the URL or of the answer except a status.
alter table webhook.endpoints add column last_error text, add column last_error_at timestamptz;
