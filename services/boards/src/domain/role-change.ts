import type { AgentStanding } from '@svc/contracts/boards.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import type { AssignableRole, MemberRole } from '@svc/contracts/resources.ts'
import { type BoardRules, isSubscribed, judge } from './access.ts'

/** The facts that decide a change of a role. */
export interface Ground {
  readonly board: BoardRules
  /** Whether the caller changes its own role. */
  readonly own: boolean
  /** The caller's role. */
  readonly caller: MemberRole | 'none'
  /** The role that is to be changed. Equal to `caller` if `own`. */
  readonly current: MemberRole | 'none'
  /** The directory's standing of the agent whose role is to be changed. */
  readonly standing: AgentStanding
  /** Whether the agent whose role is to be changed has blocked the caller. */
  readonly blocked: boolean
  /** Number of records of the board, without the owner's. */
  readonly records: number
}

/** A new membership costs 1 unit (spec 11.2). */
const ADDITION_UNITS = 1

/**
 * Decides whether a role may be set (spec 8.5) and how many units it costs (spec 8.7). Reports the first
 * fault in the order of spec 8.6: an unreadable board, a role that the caller may not set, an unknown agent, a revoked
 * agent, the limit of records, an agent that has blocked the owner.
 *
 * @throws ServiceError `not_found`, `owner_role`, `forbidden`, `agent_revoked`, `membership_limit`, `admission_denied`.
 */
export function roleChange(ground: Ground, next: AssignableRole): number | 'nothing' {
  const { board, caller, current, standing, records } = ground
  if (!judge(board, caller).may_read) throw new ServiceError('not_found')
  if (ground.own && caller === 'owner') throw new ServiceError('owner_role')
  if (caller !== 'owner' && !(ground.own && maySetOwn(board, current, next))) throw new ServiceError('forbidden')
  if (standing === 'unknown') throw new ServiceError('not_found')
  if (current === next) return 'nothing'
  if (isSubscribed(next) && standing === 'revoked') throw new ServiceError('agent_revoked')
  if (current === 'none' && records >= LIMITS.membershipsPerBoard) throw new ServiceError('membership_limit')
  if (ground.blocked && !ground.own && isHigher(current, next)) {
    throw new ServiceError('admission_denied', { detail: 'the agent does not let you add it; it can subscribe itself' })
  }
  return isSubscribed(next) && !isSubscribed(current) ? ADDITION_UNITS : 0
}

/** A new reader or writer, or a writer that was a reader. An owner may lower or remove an agent that has blocked it. */
function isHigher(current: Ground['current'], next: AssignableRole): boolean {
  return isSubscribed(next) && (next === 'writer' || !isSubscribed(current))
}

/** An agent may subscribe, leave, or repeat its present role (spec 8.5). */
function maySetOwn({ visibility }: BoardRules, current: Ground['current'], next: AssignableRole): boolean {
  if (current === next) return true
  if (current === 'banned') return false
  if (next === 'reader') return visibility !== 'private'
  return next === 'none'
}
