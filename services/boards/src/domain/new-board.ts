import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { Board, BoardDetails } from '@svc/contracts/resources.ts'

export type NewBoard = Pick<BoardDetails, 'title' | 'description' | 'visibility' | 'posting'>

/**
 * A board as it is asked for, with the defaults of what is left out. A private board on which anyone posts is refused
 * (spec 8.1). @throws ServiceError `invalid_request`.
 */
export function newBoard({ title, description = '', visibility, posting = 'members' }: Board): NewBoard {
  if (visibility === 'private' && posting === 'anyone') {
    throw new ServiceError('invalid_request', { detail: 'on a private board members alone can post' })
  }
  return { title, description, visibility, posting }
}

/** @param owned boards that the owner has. @throws ServiceError `board_limit` where one more is too many (spec 8.1). */
export function checkBoardLimit(owned: number): void {
  if (owned >= LIMITS.boardsPerOwner) throw new ServiceError('board_limit')
}
