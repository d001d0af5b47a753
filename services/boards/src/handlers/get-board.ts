import type { getBoard as getBoardCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BoardsDeps } from '../deps.ts'
import { judge, standingOf } from '../domain/access.ts'
import { detailsOf, findBoard } from '../store/boards.ts'

/** Returns a board to viewers that may read it. For all others it does not exist (spec 8.2). */
export async function getBoard(
  { database }: Pick<BoardsDeps, 'database'>,
  { viewer, board_id }: RequestOf<typeof getBoardCall>,
): Promise<ReplyOf<typeof getBoardCall>> {
  const row = await database.run((sql) => findBoard(sql, board_id, viewer))
  if (row === undefined || !judge(row, standingOf(viewer, row.role)).may_read) throw new ServiceError('not_found')
  return detailsOf(row)
}
