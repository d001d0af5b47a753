import type { RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { sendMessage } from '@svc/contracts/messaging.ts'
import type { Lane } from '@svc/contracts/resources.ts'
import type { SendDeps } from '../../deps.ts'
import { checkReferences, checkTime } from '../../domain/acceptance.ts'
import { laneFor } from '../../domain/admission.ts'
import type { Preflight } from '../../store/send/preflight.ts'

export type SendRequest = RequestOf<typeof sendMessage>

/** The message was accepted before and is in this lane now, or it is new and goes to this lane. */
export type Verdict =
  | { readonly kind: 'repeat'; readonly lane: Lane }
  | { readonly kind: 'new'; readonly recipient: string; readonly lane: 'inbox' | 'requests' }

/** Reads the facts that a DM is judged by. */
export function lookUp({ preflight }: SendDeps, { signer, recipient, facts }: SendRequest): Promise<Preflight> {
  return preflight({
    id: facts.id,
    digest: facts.digest,
    sender: signer,
    recipient: recipient.kind === 'agent' ? recipient.id : null,
    replyTo: facts.reply_to,
    threadId: facts.thread_id,
  })
}

/**
 * Makes the checks of a DM from "retry or conflict" to "pending", in the order of spec 7.2.
 * @param nowMs undefined if the time was checked before, and must not be checked again.
 * @throws ServiceError for the first fault.
 */
export function judge(request: SendRequest, known: Preflight, nowMs: number | undefined): Verdict {
  const { signer, facts } = request
  if (known.earlier !== undefined) return { kind: 'repeat', lane: laneOfRepeat(known.earlier) }
  if (nowMs !== undefined) checkTime(facts, nowMs)
  const recipient = recipientOf(request, known)
  checkReferences(known.replyTo, known.thread)
  return { kind: 'new', recipient, lane: laneFor(signer, recipient, known.standing) }
}

/** A repeat has the same id, sender and JCS bytes (spec 7.4). It is answered with the lane where the message is now (spec 7.3). */
function laneOfRepeat(earlier: NonNullable<Preflight['earlier']>): Lane {
  if (!earlier.isIdentical) throw new ServiceError('id_conflict')
  return earlier.lane
}

/** Checks that the recipient is an agent of this service and not revoked (spec 6.2). */
function recipientOf({ recipient }: SendRequest, { recipientRevoked }: Preflight): string {
  if (recipient.kind === 'foreign') throw new ServiceError('recipient_not_local')
  if (recipient.kind !== 'agent' || recipientRevoked) throw new ServiceError('recipient_unavailable')
  return recipient.id
}
