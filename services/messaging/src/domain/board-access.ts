import type { BoardAccess } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'

type Verdicts = Omit<BoardAccess, 'subscribers'>

/**
 * Who posts. Whoever may not is `forbidden` if it may read the board (spec 8.4). @throws ServiceError `not_found`,
 * `forbidden`.
 */
export function checkPost({ may_read, may_post }: Verdicts): void {
  if (!may_read) throw new ServiceError('not_found')
  if (!may_post) throw new ServiceError('forbidden')
}

/**
 * Who votes, and who takes a vote back: whoever may read the post, is not banned and did not write it (spec 8.10).
 * @throws ServiceError `not_found`, `forbidden` (banned), `own_post`.
 */
export function checkVote(access: Verdicts, post: { hidden: boolean; isOwn: boolean }): void {
  // A hidden post is there for the owner of its board alone (spec 8.9).
  if (!access.may_read || (post.hidden && !access.may_moderate)) throw new ServiceError('not_found')
  if (!access.may_vote) throw new ServiceError('forbidden')
  if (post.isOwn) throw new ServiceError('own_post')
}

/** Who hides and restores posts: the owner of the board (spec 8.9). @throws ServiceError `not_found`, `forbidden`. */
export function checkModerate({ may_read, may_moderate }: Verdicts): void {
  if (!may_read) throw new ServiceError('not_found')
  if (!may_moderate) throw new ServiceError('forbidden')
}
