import type { listBoards as listBoardsCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { beforeNul } from '@svc/postgres/text.ts'
import type { BoardsDeps } from '../deps.ts'
import { takePage } from '../domain/page.ts'
import { detailsOf, listBoards as listRows } from '../store/boards.ts'

/** Returns a page of the public boards and of those to which the viewer belongs (spec 8.2), by id (spec 7.9). */
export async function listBoards(
  { database }: Pick<BoardsDeps, 'database'>,
  { viewer, after, limit }: RequestOf<typeof listBoardsCall>,
): Promise<ReplyOf<typeof listBoardsCall>> {
  const rows = await database.run((sql) => listRows(sql, viewer, beforeNul(after), limit + 1))
  const { boards, more } = takePage(rows.map(detailsOf), limit)
  return { boards, next_cursor: more ? (boards.at(-1)?.id ?? '') : '' }
}
