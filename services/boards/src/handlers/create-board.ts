import { randomBytes } from 'node:crypto'
import { chargedChange } from '@svc/charging/charged-change.ts'
import type { createBoard as createBoardCall } from '@svc/contracts/boards.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { Tx } from '@svc/postgres/database.ts'
import type { BoardsDeps } from '../deps.ts'
import { boardId, RANDOM_BYTES } from '../domain/board-id.ts'
import { checkBoardLimit, newBoard } from '../domain/new-board.ts'
import { countBoards, insertBoard, lockOwner, takeCreationTime } from '../store/boards.ts'

type Deps = Pick<BoardsDeps, 'database' | 'charging' | 'operations'>

/** Creating a board costs 10 units (spec 11.2). */
const CREATION_UNITS = 10
const US_PER_SECOND = 1_000_000

/** Creates a board. The limit is checked before the cost is reserved, and again under the owner's lock. */
export function createBoard(
  deps: Deps,
  request: RequestOf<typeof createBoardCall>,
  context: CallContext,
): Promise<ReplyOf<typeof createBoardCall>> {
  const { owner } = request
  const board = newBoard(request.board)
  const change = {
    agentId: owner,
    lock: owner,
    async price(): Promise<number> {
      checkBoardLimit(await deps.database.run((sql) => countBoards(sql, owner)))
      return CREATION_UNITS
    },
    async write(tx: Tx): Promise<BoardDetails> {
      await lockOwner(tx, owner)
      checkBoardLimit(await countBoards(tx, owner))
      const createdUs = await takeCreationTime(tx)
      const id = boardId(createdUs, randomBytes(RANDOM_BYTES))
      const details = { id, owner, ...board, created_at: Math.floor(createdUs / US_PER_SECOND) }
      await insertBoard(tx, details)
      return details
    },
  }
  return chargedChange(deps, change, context)
}
