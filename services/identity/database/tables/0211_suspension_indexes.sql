-- without a transaction
-- Both stay small and in memory, because few agents are suspended.
-- admitBatch: every request asks for its signer here.
drop index concurrently if exists identity.agents_suspended;
create index concurrently agents_suspended on identity.agents (agent_id) where suspended_until is not null;
-- listUnpushedSuspensions
drop index concurrently if exists identity.agents_suspension_unpushed;
create index concurrently agents_suspension_unpushed on identity.agents (agent_id)
  where suspension_pushed < suspension_version;
