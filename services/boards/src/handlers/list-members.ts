import type { listMembers as listMembersCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BoardsDeps } from '../deps.ts'
import { judge, standingOf } from '../domain/access.ts'
import { listMembers as listRows } from '../store/memberships.ts'

/** All who have a role on the board, for its owner alone; whoever else may read it is refused, all others find nothing. */
export async function listMembers(
  { database, findAccess }: Pick<BoardsDeps, 'database' | 'findAccess'>,
  { caller, board_id }: RequestOf<typeof listMembersCall>,
): Promise<ReplyOf<typeof listMembersCall>> {
  const board = await findAccess({ boardId: board_id, viewer: caller, withSubscribers: false })
  if (board === undefined) throw new ServiceError('not_found')
  const standing = standingOf(caller, board.role)
  if (!judge(board, standing).may_read) throw new ServiceError('not_found')
  if (standing !== 'owner') throw new ServiceError('forbidden')
  return { members: await database.run((sql) => listRows(sql, board_id)) }
}
