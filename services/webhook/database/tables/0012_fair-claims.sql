-- One host, however many endpoints it has, takes a bounded part of a worker; and an endpoint is not struggling that has proved
-- itself: slow answers count as failures do, and one success does not make up for them.

alter table webhook.endpoints
  add column host text collate "C"
    generated always as (rtrim(lower(substring(url from '^[^/]*//(\[[^]]*\]|[^:/?#]*)')), '.')) stored,
  -- Deliveries that have to be quick, one after another, until it is not struggling any more.
  add column to_prove smallint not null default 0;
