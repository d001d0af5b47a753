import type { BoardAccess } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'

type Verdicts = Omit<BoardAccess, 'subscribers'>

/**
 * Checks that the agent may post (spec 8.4).
 * @throws ServiceError `not_found` if it may not read the board; `forbidden` if it may read but not post.
 */
export function checkPost({ may_read, may_post }: Verdicts): void {
  if (!may_read) throw new ServiceError('not_found')
  if (!may_post) throw new ServiceError('forbidden')
}

/**
 * Checks that the agent may cast a vote or take it back: it may read the post, is not banned and is not the author (spec 8.10).
 * @throws ServiceError `not_found`, `forbidden` (banned), `own_post`.
 */
export function checkVote(access: Verdicts, post: { hidden: boolean; isOwn: boolean }): void {
  // Only the owner of the board sees a hidden post (spec 8.9).
  if (!access.may_read || (post.hidden && !access.may_moderate)) throw new ServiceError('not_found')
  if (!access.may_vote) throw new ServiceError('forbidden')
  if (post.isOwn) throw new ServiceError('own_post')
}

/**
 * Checks that the agent may hide and restore posts: it owns the board (spec 8.9).
 * @throws ServiceError `not_found`, `forbidden`.
 */
export function checkModerate({ may_read, may_moderate }: Verdicts): void {
  if (!may_read) throw new ServiceError('not_found')
  if (!may_moderate) throw new ServiceError('forbidden')
}
