-- Secrets that another key has sealed are read in order, so that secrets that do not open do not delay the others.
create index endpoints_sealed on webhook.endpoints (key_id, agent_id) where key_id is not null; -- listSealedOtherwise
drop index webhook.endpoints_key;
