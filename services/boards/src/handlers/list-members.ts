import type { listMembers as listMembersCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BoardsDeps } from '../deps.ts'
import { judge, standingOf } from '../domain/access.ts'
import { listMembers as listRows } from '../store/memberships.ts'

/** Lists all who have a role on the board, for its owner only. Other readers get `forbidden`; everybody else `not_found`. */
export async function listMembers(
  { database }: Pick<BoardsDeps, 'database'>,
  { caller, board_id }: RequestOf<typeof listMembersCall>,
): Promise<ReplyOf<typeof listMembersCall>> {
  const rows = await database.run((sql) => listRows(sql, board_id))
  const [board] = rows
  const role = rows.find(({ agent_id }) => agent_id === caller)?.role ?? null
  if (board === undefined || !judge(board, standingOf(caller, role)).may_read) throw new ServiceError('not_found')
  if (role !== 'owner') throw new ServiceError('forbidden')
  return { members: rows.map(({ agent_id, role }) => ({ agent_id, role })) }
}
