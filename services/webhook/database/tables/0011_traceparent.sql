-- The traceparent of the request that caused the job, if it is traced. Deliveries in any process continue this trace.
alter table webhook.jobs add column traceparent text;
