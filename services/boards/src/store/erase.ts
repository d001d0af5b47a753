import type { Tx } from '@svc/postgres/database.ts'

/**
 * Empties and takes down the agent's boards, and deletes its memberships. The boards stay, as the tombstone's, because posts of
 * others refer to them.
 */
export async function eraseAgent(
  tx: Tx,
  agentId: string,
  tombstone: string,
): Promise<{ boards: number; memberships: number }> {
  // The row of the board is the lock of all its memberships.
  await tx`
    select from boards.boards b
    where b.owner = ${agentId} or b.id in (select m.board_id from boards.memberships m where m.agent_id = ${agentId})
    order by b.id for no key update`
  const boards = await tx`
    update boards.boards b set owner = ${tombstone}, title = '', description = '', taken_down = true
    where b.owner = ${agentId}`
  await tx`
    update boards.memberships m set agent_id = ${tombstone} where m.agent_id = ${agentId} and m.role = 'owner'`
  const memberships = await tx`delete from boards.memberships m where m.agent_id = ${agentId}`
  await tx`delete from boards.blocks b where b.agent_id = ${agentId} or b.owner = ${agentId}`
  await tx`delete from boards.owners o where o.agent_id = ${agentId}`
  return { boards: boards.count, memberships: memberships.count }
}
