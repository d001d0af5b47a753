-- A host takes a limited share of a worker, however many endpoints it has. Slow answers count as failures, and an endpoint
-- stops being struggling only after several quick deliveries in a row.

alter table webhook.endpoints
  add column host text collate "C"
    generated always as (rtrim(lower(substring(url from '^[^/]*//(\[[^]]*\]|[^:/?#]*)')), '.')) stored,
  -- How many quick deliveries in a row are missing until the endpoint stops being struggling.
  add column to_prove smallint not null default 0;
