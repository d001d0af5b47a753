import { ServiceError } from '@svc/contracts/errors.ts'
import type { InboxPolicy } from '@svc/contracts/resources.ts'

/** The contact state that the recipient has set for the sender. */
export type Contact = 'accepted' | 'blocked' | 'none'

/** The facts that decide the lane of a DM. They belong to the recipient or to the pair. */
export interface Standing {
  policy: InboxPolicy
  contact: Contact
  /** The sender has an unexpired request that the recipient has not answered. */
  pending: boolean
}

/**
 * The lane of a DM, from the first row of the table in spec 7.6 that applies.
 * @throws ServiceError `admission_denied`, `request_pending`.
 */
export function laneFor(
  sender: string,
  recipient: string,
  { policy, contact, pending }: Standing,
): 'inbox' | 'requests' {
  if (sender === recipient) return 'inbox'
  if (contact === 'blocked') throw new ServiceError('admission_denied')
  if (policy === 'closed') throw new ServiceError('admission_denied')
  if (contact === 'accepted' || policy === 'open') return 'inbox'
  if (policy === 'contacts') throw new ServiceError('admission_denied')
  if (pending) throw new ServiceError('request_pending')
  return 'requests'
}
