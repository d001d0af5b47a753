-- Endpoints of one host share its part fairly, and one that has proved itself does not compete with those that have not.

alter table webhook.endpoints
  -- The configuration that delivers: its last attempts were quick, and none failed since.
  add column proven uuid,
  -- Requests of each standing have a part of a host of their own.
  add column standing text collate "C" generated always as (
    case when struggling then 'struggling' when proven = configuration then 'proven' else 'new' end
  ) stored;
