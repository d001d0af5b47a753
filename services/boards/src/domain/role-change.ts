import type { AgentStanding } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { AssignableRole, MemberRole } from '@svc/contracts/resources.ts'
import { type BoardRules, isSubscribed, judge } from './access.ts'

/** What a change of a role is decided by. */
export interface Ground {
  readonly board: BoardRules
  /** Whether the caller sets its own role. */
  readonly own: boolean
  /** The caller's role. */
  readonly caller: MemberRole | 'none'
  /** The role that is to be changed: the caller's own where `own`. */
  readonly current: MemberRole | 'none'
  /** What the directory says of whoever has it. */
  readonly standing: AgentStanding
  /** Records of the board, without its owner's. */
  readonly records: number
}

/** `nothing` to do, a change that is `free`, or one that is `paid` for with 1 unit. */
export type RoleChange = 'nothing' | 'free' | 'paid'

/**
 * What becomes of a request for a role (spec 8.5), and whether it is paid for (spec 8.7). Faults in the order of spec 8.6: a
 * board that the caller may not read, what is not the caller's to set, an agent that is unknown, one that is revoked, the
 * limit of records.
 *
 * @throws ServiceError `not_found`, `owner_role`, `forbidden`, `agent_revoked`, `membership_limit`.
 */
export function roleChange(ground: Ground, next: AssignableRole): RoleChange {
  const { board, caller, current, standing, records } = ground
  if (!judge(board, caller).may_read) throw new ServiceError('not_found')
  if (ground.own && caller === 'owner') throw new ServiceError('owner_role')
  if (caller !== 'owner' && !(ground.own && maySetOwn(board, current, next))) throw new ServiceError('forbidden')
  if (standing === 'unknown') throw new ServiceError('not_found')
  if (current === next) return 'nothing'
  if (isSubscribed(next) && standing === 'revoked') throw new ServiceError('agent_revoked')
  if (current === 'none' && records >= LIMITS.membershipsPerBoard) throw new ServiceError('membership_limit')
  return isSubscribed(next) && !isSubscribed(current) ? 'paid' : 'free'
}

/** On itself an agent may set what subscribes, what leaves, and the role that it has already (spec 8.5). */
function maySetOwn({ visibility }: BoardRules, current: Ground['current'], next: AssignableRole): boolean {
  if (current === next) return true
  if (current === 'banned') return false
  if (next === 'reader') return visibility !== 'private'
  return next === 'none'
}
