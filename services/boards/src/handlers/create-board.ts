import { randomBytes, randomUUID } from 'node:crypto'
import type { Reservation } from '@svc/charging/fences.ts'
import type { createBoard as createBoardCall } from '@svc/contracts/boards.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { BoardsDeps } from '../deps.ts'
import { boardId, RANDOM_BYTES } from '../domain/board-id.ts'
import { checkBoardLimit, type NewBoard, newBoard } from '../domain/new-board.ts'
import { countBoards, insertBoard, lockOwner, takeCreationTime } from '../store/boards.ts'

type Deps = Pick<BoardsDeps, 'database' | 'charging' | 'operations'>

/** Creating a board costs 10 units (spec 11.2). */
const CREATION_UNITS = 10
const US_PER_SECOND = 1_000_000

/**
 * Creates a board. Order of steps: check the limit, reserve the cost, check the limit again under the owner's lock,
 * insert.
 */
export async function createBoard(
  deps: Deps,
  request: RequestOf<typeof createBoardCall>,
  context: CallContext,
): Promise<ReplyOf<typeof createBoardCall>> {
  const { owner } = request
  const board = newBoard(request.board)
  checkBoardLimit(await deps.database.run((sql) => countBoards(sql, owner)))
  // The client does not choose a board's id, so each request is an operation of its own, and a repeat creates another
  // board.
  const operation = `boards:${randomUUID()}`
  const cost = { operation, agentId: owner, units: CREATION_UNITS, introductionPeer: null }
  return deps.charging.charge(cost, context, (reservation) => commitBoard(deps, owner, board, reservation))
}

function commitBoard(
  { database, operations }: Deps,
  owner: string,
  board: NewBoard,
  reservation: Reservation,
): Promise<BoardDetails> {
  return database.transaction(async (tx) => {
    await lockOwner(tx, owner)
    checkBoardLimit(await countBoards(tx, owner))
    if ((await operations.commit(tx, reservation)) === 'duplicate') {
      throw new ServiceError('unavailable', { cause: new Error('this operation created its board before') })
    }
    const createdUs = await takeCreationTime(tx)
    const id = boardId(createdUs, randomBytes(RANDOM_BYTES))
    const details = { id, owner, ...board, created_at: Math.floor(createdUs / US_PER_SECOND) }
    await insertBoard(tx, details)
    return details
  }, owner)
}
