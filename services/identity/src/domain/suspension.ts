import { ServiceError } from '@svc/contracts/errors.ts'
import type { Suspension } from '@svc/contracts/suspension.ts'

/** What identity stores about the suspension of an agent (columns of `identity.agents`). */
export interface SuspensionRecord {
  readonly agent_id: string
  readonly name: string
  readonly revoked: boolean
  /** Null: not suspended, or its end has passed. */
  readonly suspension: Suspension | null
  /** Rises with every change that messaging and webhook must know. */
  readonly suspension_version: number
  /** The highest version that both have confirmed. */
  readonly suspension_pushed: number
}

/**
 * Whether a suspension, or its end (null), changes anything.
 * @throws ServiceError `agent_revoked` for a revoked agent, whose requests are refused for ever; `invalid_request` for an end that is
 * not in the future.
 */
export function changesSuspension(
  { revoked, suspension }: Pick<SuspensionRecord, 'revoked' | 'suspension'>,
  next: Suspension | null,
  nowSeconds: number,
): boolean {
  if (next === null) return suspension !== null
  if (revoked)
    throw new ServiceError('agent_revoked', {
      detail: 'the agent is revoked: each of its requests is refused for ever',
    })
  if (next.until !== null && next.until <= nowSeconds)
    throw new ServiceError('invalid_request', { detail: 'the end of a suspension must be in the future' })
  return suspension === null || suspension.until !== next.until
}
