import type { BoardVisibility, MemberRole, PostingMode } from '@svc/contracts/resources.ts'

/** The properties of a board that decide who may do what with it. */
export interface BoardRules {
  readonly visibility: BoardVisibility
  readonly posting: PostingMode
}

/**
 * A viewer's relation to a board. `none` is a registered agent without a record, `anonymous` a caller without a
 * signature.
 */
export type Standing = MemberRole | 'none' | 'anonymous'

/** A BoardAccess of libs/contracts without its subscribers. */
interface Verdicts {
  readonly may_read: boolean
  /** Everybody may read the board, unless an operator takes it down: its visibility never changes. */
  readonly open: boolean
  readonly may_post: boolean
  readonly may_vote: boolean
  readonly may_moderate: boolean
}

/** The same answer for a board that does not exist and one that the viewer may not read, so nobody can tell them apart. */
export const NOTHING: Verdicts = { may_read: false, open: false, may_post: false, may_vote: false, may_moderate: false }

/**
 * Decides who may do what with a board. Visibility decides who reads (spec 8.2), and the posting mode who posts
 * (spec 8.4). A reader may vote unless it is anonymous or banned (spec 8.10). Only the owner may hide and restore
 * posts, and read hidden ones (spec 8.9).
 */
export function judge({ visibility, posting }: BoardRules, standing: Standing): Verdicts {
  const subscribed = isSubscribed(standing)
  const open = visibility !== 'private'
  if (!open && !subscribed) return NOTHING
  const mayWrite = standing !== 'anonymous' && standing !== 'banned'
  return {
    may_read: true,
    open,
    may_post: posting === 'anyone' ? mayWrite : standing === 'owner' || standing === 'writer',
    may_vote: mayWrite,
    may_moderate: standing === 'owner',
  }
}

/** The owner, writers and readers get an entry for each post that another agent makes (spec 8.8). */
export function isSubscribed(standing: Standing): boolean {
  return standing === 'owner' || standing === 'writer' || standing === 'reader'
}

/** @param viewer null if anonymous. @param role The viewer's role, null if it has no record. */
export function standingOf(viewer: string | null, role: MemberRole | null): Standing {
  if (viewer === null) return 'anonymous'
  return role ?? 'none'
}
