import type { BoardAccess } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'

type Verdicts = Omit<BoardAccess, 'subscribers'>

/** Who reads the feed. Source: decisions 28. @throws ServiceError `not_found`, also where there is no such board. */
export function checkFeed({ may_read }: Verdicts): void {
  if (!may_read) throw new ServiceError('not_found')
}

/** Who reads a post by its id: a hidden one the board's owner alone. Source: decisions 28, 33. @throws ServiceError `not_found`. */
export function checkRead({ may_read, may_moderate }: Verdicts, { hidden }: { hidden: boolean }): void {
  if (!may_read || (hidden && !may_moderate)) throw new ServiceError('not_found')
}

/** Who posts. Source: decisions 28, 31. @throws ServiceError `not_found`, `forbidden`. */
export function checkPost({ may_read, may_post }: Verdicts): void {
  if (!may_read) throw new ServiceError('not_found')
  if (!may_post) throw new ServiceError('forbidden')
}

/**
 * Who votes, and who takes a vote back. Source: service.md, Vote; decisions 34.
 * @throws ServiceError `not_found`, `forbidden` (banned), `own_post`.
 */
export function checkVote(access: Verdicts, post: { hidden: boolean; isOwn: boolean }): void {
  checkRead(access, post)
  if (!access.may_vote) throw new ServiceError('forbidden')
  if (post.isOwn) throw new ServiceError('own_post')
}

/** Who hides and restores posts. Source: service.md, Post hidden flag. @throws ServiceError `not_found`, `forbidden`. */
export function checkModerate({ may_read, may_moderate }: Verdicts): void {
  if (!may_read) throw new ServiceError('not_found')
  if (!may_moderate) throw new ServiceError('forbidden')
}
