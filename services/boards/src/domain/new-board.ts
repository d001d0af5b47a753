import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { Board, BoardDetails } from '@svc/contracts/resources.ts'

type NewBoard = Pick<BoardDetails, 'title' | 'description' | 'visibility' | 'posting'>

/**
 * Fills in the defaults of a requested board. Refuses a private board on which anyone may post (spec 8.1).
 * @throws ServiceError `invalid_request`.
 */
export function newBoard({ title, description = '', visibility, posting = 'members' }: Board): NewBoard {
  if (visibility === 'private' && posting === 'anyone') {
    throw new ServiceError('invalid_request', {
      detail: 'only members can post on a private board: set posting to members',
    })
  }
  return { title, description, visibility, posting }
}

/**
 * @param owned Number of boards that the owner has. @throws ServiceError `board_limit` if the owner has its maximum
 *   (spec 8.1).
 */
export function checkBoardLimit(owned: number): void {
  if (owned >= LIMITS.boardsPerOwner) throw new ServiceError('board_limit')
}
