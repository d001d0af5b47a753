import type { Reservation } from '@svc/charging/fences.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { SendDeps } from '../../deps.ts'
import { expiryCap } from '../../domain/acceptance.ts'
import type { Appended } from '../../store/send/append.ts'
import type { Preflight } from '../../store/send/preflight.ts'
import { judge, lookUp, type SendRequest } from './judge.ts'

/** The attempt had no effect, because it took too long, or another attempt at the message fenced it. */
export class Fenced extends ServiceError {
  override name = 'Fenced'
  constructor() {
    super('unavailable', { cause: new Error('the reservation expired, or another attempt gave it up') })
  }
}

interface JudgedMessage {
  readonly request: SendRequest
  /** The facts that it was judged by. */
  readonly known: Preflight
  readonly reservation: Reservation
  readonly traceparent: string
}

/** Maximum number of judgements of one attempt, while the recipient keeps changing its settings. */
const MAX_DECISIONS = 5

/**
 * Appends a message. If the facts that it was judged by have changed since, looks them up and judges the message again. Does
 * not check its time again, because it was in time when it was first judged.
 */
export async function appendJudged(
  deps: SendDeps,
  { request, known: first, reservation, traceparent }: JudgedMessage,
): Promise<Pick<Appended, 'lane'> & { outcome: 'accepted' | 'duplicate' }> {
  const { signer, facts, envelope } = request
  let known = first
  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    if (decision > 1) known = await lookUp(deps, request)
    const verdict = judge(request, known, undefined)
    // The previous append may have been stale because another attempt at this message was accepted.
    if (verdict.kind === 'repeat') return { outcome: 'duplicate', lane: verdict.lane }
    const { recipient, lane } = verdict
    const { outcome, lane: laneNow } = await deps.append({
      id: facts.id,
      digest: facts.digest,
      sender: signer,
      recipient,
      lane,
      threadId: facts.thread_id,
      envelope,
      expiryCap: expiryCap(facts),
      policy: known.standing.policy,
      contact: known.standing.contact,
      standingVersion: known.standingVersion,
      operation: reservation.operation,
      deadlineMs: reservation.deadlineMs,
      traceparent,
    })
    if (outcome !== 'stale') {
      if (lane === 'inbox') deps.standings.remember(signer, recipient, known)
      if (outcome === 'conflict') throw new ServiceError('id_conflict')
      if (outcome === 'fenced') throw new Fenced()
      return { outcome, lane: laneNow }
    }
  }
  throw new ServiceError('unavailable', {
    cause: new Error('the recipient changed its settings during every attempt to decide'),
  })
}
