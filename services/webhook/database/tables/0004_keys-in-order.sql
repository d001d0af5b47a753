-- Secrets sealed with another key are read in order, so that secrets that cannot be opened do not delay the others.
create index endpoints_sealed on webhook.endpoints (key_id, agent_id) where key_id is not null; -- listSealedOtherwise
drop index webhook.endpoints_key;
