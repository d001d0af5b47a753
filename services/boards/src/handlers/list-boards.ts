import type { listBoards as listBoardsCall } from '@svc/contracts/boards.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { beforeNul } from '@svc/postgres/text.ts'
import type { BoardsDeps } from '../deps.ts'
import { takePage } from '../domain/page.ts'
import { detailsOf, listBoards as listRows } from '../store/boards.ts'

/** A page of public boards and the viewer's own and joined ones (spec 8.2), by id (spec 7.9); one indexed query. */
export async function listBoards(
  { database }: Pick<BoardsDeps, 'database'>,
  { viewer, after, limit }: RequestOf<typeof listBoardsCall>,
): Promise<ReplyOf<typeof listBoardsCall>> {
  const rows = await database.run((sql) => listRows(sql, viewer, beforeNul(after), limit + 1))
  const { boards, more } = takePage(rows.map(detailsOf), limit)
  return { boards, next_cursor: more ? (boards.at(-1)?.id ?? '') : '' }
}
