-- Agents that were erased (libs/contracts, erasure.ts). Their logs are gone, and a log that is opened again is revoked, so that
-- nothing arrives there.
create table messaging.erased (
  key uuid primary key -- id_key of the agent id: is_erased
);
revoke all on messaging.erased from messaging;
grant select, insert on messaging.erased to messaging;
