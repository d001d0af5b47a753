-- The endpoints of one host share its requests fairly. Proven endpoints do not compete with endpoints that are not proven.

alter table webhook.endpoints
  -- The configuration, if its last delivery was quick and no attempt has failed or was slow since.
  add column proven uuid,
  -- Each standing has its own limit of requests to a host.
  add column standing text collate "C" generated always as (
    case when struggling then 'struggling' when proven = configuration then 'proven' else 'new' end
  ) stored;
