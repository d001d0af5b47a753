-- Secrets that another key has sealed are gone through in order, so that those that do not open hold up no others.
create index endpoints_sealed on webhook.endpoints (key_id, agent_id) where key_id is not null; -- listSealedOtherwise
drop index webhook.endpoints_key;
