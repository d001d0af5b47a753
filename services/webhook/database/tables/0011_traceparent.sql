-- Of the request that a job comes from, where that is traced: its deliveries go on with that trace, in any process.
alter table webhook.jobs add column traceparent text;
