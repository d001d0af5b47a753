import type { AssignableRole, MemberEntry, MemberRole } from '@svc/contracts/resources.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'
import type { BoardRules } from '../domain/access.ts'

/**
 * Lists the owner, writers, readers and banned agents, in byte order of the id (spec 8.3), each with the rules of the
 * board. Includes revoked agents, whose records count until they are removed (spec 8.7). An empty list means that
 * there is no such board, because every board has an owner, or that it is taken down.
 */
export async function listMembers(sql: Sql, boardId: string): Promise<(MemberEntry & BoardRules)[]> {
  return sql<(MemberEntry & BoardRules)[]>`
    select m.agent_id, m.role, b.visibility, b.posting
    from boards.boards b
    join boards.memberships m on m.board_id = b.id
    where b.id = ${boardId} and not b.taken_down order by m.agent_id`
}

interface GroundRow extends BoardRules {
  caller: MemberRole | null
  current: MemberRole | null
  records: number
  /** The version of messaging's at which the agent blocked the caller, if that was noted. */
  noted_version: number | null
}

/** Reads the facts that decide a change of the agent's role by the caller; undefined if there is no such board, or it is taken down. */
export async function findGround(
  sql: Sql | Tx,
  boardId: string,
  caller: string,
  agentId: string,
): Promise<GroundRow | undefined> {
  const [row] = await sql<GroundRow[]>`
    select b.visibility, b.posting,
      (select m.role from boards.memberships m where m.board_id = b.id and m.agent_id = ${caller}) as caller,
      (select m.role from boards.memberships m where m.board_id = b.id and m.agent_id = ${agentId}) as current,
      (select count(*) from boards.memberships m where m.board_id = b.id and m.role <> 'owner') as records,
      (select k.version from boards.blocks k where k.agent_id = ${agentId} and k.owner = ${caller}) as noted_version
    from boards.boards b where b.id = ${boardId} and not b.taken_down`
  return row
}

/** The caller must hold the board's lock. */
export async function saveRole(tx: Tx, boardId: string, agentId: string, role: AssignableRole): Promise<void> {
  if (role === 'none') {
    await tx`delete from boards.memberships m where m.board_id = ${boardId} and m.agent_id = ${agentId}`
  } else {
    await tx`
      insert into boards.memberships (board_id, agent_id, role) values (${boardId}, ${agentId}, ${role})
      on conflict (board_id, agent_id) do update set role = excluded.role`
  }
}
