-- Agents that were erased (libs/contracts, erasure.ts). Their logs belong to their tombstones. If a log is opened again
-- under the id of an erased agent, the new log is revoked, so nothing arrives there.
create table messaging.erased (
  key uuid primary key -- id_key of the agent id: is_erased
);
revoke all on messaging.erased from messaging;
grant select, insert on messaging.erased to messaging;
