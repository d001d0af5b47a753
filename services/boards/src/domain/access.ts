import type { BoardVisibility, MemberRole, PostingMode } from '@svc/contracts/resources.ts'

/** What of a board decides who may do what with it. */
export interface BoardRules {
  readonly visibility: BoardVisibility
  readonly posting: PostingMode
}

/** What somebody is to a board: `none` is a registered identity without a record, `anonymous` a caller without a signature. */
export type Standing = MemberRole | 'none' | 'anonymous'

/** Without its subscribers, what libs/contracts calls BoardAccess. */
export interface Verdicts {
  readonly may_read: boolean
  /** Whoever asks may read it, now and later: a visibility is for ever. */
  readonly open: boolean
  readonly may_post: boolean
  readonly may_vote: boolean
  readonly may_moderate: boolean
}

/** Nobody sees the difference between a board that is not there and one that it may not read. */
export const NOTHING: Verdicts = { may_read: false, open: false, may_post: false, may_vote: false, may_moderate: false }

/**
 * Who may do what with a board. Visibility says who reads (spec 8.2), and the posting mode who posts (spec 8.4). Voting is a
 * write of whoever may read and is neither anonymous nor banned (spec 8.10). Hiding, restoring and reading what is hidden are
 * the owner's (spec 8.9).
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

/** Owner, writers and readers get an entry of each post by another (spec 8.8). */
export function isSubscribed(standing: Standing): boolean {
  return standing === 'owner' || standing === 'writer' || standing === 'reader'
}

/** @param viewer null: anonymous. @param role that of the viewer, null where it has no record. */
export function standingOf(viewer: string | null, role: MemberRole | null): Standing {
  if (viewer === null) return 'anonymous'
  return role ?? 'none'
}
