import type { Tx } from '@svc/postgres/database.ts'

/** Keeps the highest version. The caller must hold the locks of the owner's boards. */
export async function saveBlock(tx: Tx, agentId: string, owner: string, version: number): Promise<void> {
  await tx`
    insert into boards.blocks as b (agent_id, owner, version) values (${agentId}, ${owner}, ${version})
    on conflict (agent_id, owner) do update set version = greatest(b.version, excluded.version)`
}
