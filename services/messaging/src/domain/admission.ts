import { ServiceError } from '@svc/contracts/errors.ts'
import type { InboxPolicy } from '@svc/contracts/resources.ts'

/** What a recipient thinks of a sender. */
export type Contact = 'accepted' | 'blocked' | 'none'

/** What decides where a DM goes: all of it belongs to the recipient, or to the pair. */
export interface Standing {
  policy: InboxPolicy
  contact: Contact
  /** An unexpired request of the sender waits for the recipient's answer. */
  pending: boolean
}

/**
 * The lane of a DM: the first row that applies in the table of spec 7.6.
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
