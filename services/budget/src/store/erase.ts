import type { Tx } from '@svc/postgres/database.ts'

/** Replaces the agent by its tombstone wherever it paid, was granted, or was introduced. The sums stay. */
export async function eraseAgent(tx: Tx, agentId: string, tombstone: string): Promise<{ rows: number }> {
  await tx`select from budget.accounts a where a.agent_id = ${agentId} for update`
  const changed = [
    await tx`update budget.reservations r set agent_id = ${tombstone} where r.agent_id = ${agentId}`,
    await tx`update budget.reservations r set introduction_peer = ${tombstone} where r.introduction_peer = ${agentId}`,
    await tx`update budget.past_days p set agent_id = ${tombstone} where p.agent_id = ${agentId}`,
    await tx`update budget.introductions i set agent_id = ${tombstone} where i.agent_id = ${agentId}`,
    await tx`update budget.introductions i set peer = ${tombstone} where i.peer = ${agentId}`,
    await tx`update budget.grants g set agent_id = ${tombstone} where g.agent_id = ${agentId}`,
    await tx`update budget.accounts a set agent_id = ${tombstone} where a.agent_id = ${agentId}`,
  ]
  return { rows: changed.reduce((sum, { count }) => sum + count, 0) }
}
