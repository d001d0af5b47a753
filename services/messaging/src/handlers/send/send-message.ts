import type { Cost, Reserved } from '@svc/charging/charging.ts'
import type { Reservation } from '@svc/charging/fences.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { isDefinite, ServiceError } from '@svc/contracts/errors.ts'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import type { sendMessage as sendMessageCall } from '@svc/contracts/messaging.ts'
import { chargeOfMessage } from '@svc/contracts/price.ts'
import type { Lane } from '@svc/contracts/resources.ts'
import type { SendDeps } from '../../deps.ts'
import { checkReferences, checkTime, expiryCap } from '../../domain/acceptance.ts'
import { laneFor } from '../../domain/admission.ts'
import type { Appended } from '../../store/send/append.ts'
import type { Preflight } from '../../store/send/preflight.ts'
import { sendPost } from './send-post.ts'

type Request = RequestOf<typeof sendMessageCall>
type Result = ReplyOf<typeof sendMessageCall>

/** Attempts to decide about a message while the recipient keeps changing its settings. */
const MAX_DECISIONS = 5

/**
 * Accepts one DM. The checks run in the order of spec 7.2; the gateway has done those before "retry or conflict". The
 * cost is reserved before the append and settled after it. If the recipient's settings change in between, the message
 * is decided again.
 *
 * Fast path: if the gateway has reserved the cost and the pair's standing is cached, nothing is read before the append.
 * The append checks the cached standing against the log, and finds an earlier message with this id by itself. Budget
 * still knows the charge of that earlier message, because both were signed within minutes of their acceptance. So a
 * retry is not charged again.
 *
 * A refusal on the fast path is decided again from the beginning. The answer is then the first refusal in order, based
 * on current data. The same goes for an attempt that was fenced: another attempt at this message may have done it,
 * which says nothing about this one.
 */
export async function sendMessage(deps: SendDeps, request: Request, context: CallContext): Promise<Result> {
  if (request.recipient.kind === 'board') return sendPost(deps.posts, request.recipient.id, request, context)
  const { facts, reserved } = request
  const prepared = reserved === null ? undefined : reservedOf(facts, reserved)
  const recalled = prepared === undefined ? undefined : recall(deps, request)
  try {
    return await decide(deps, request, { known: recalled ?? (await findOut(deps, request)), prepared }, context)
  } catch (error) {
    const isRecalledRefusal = recalled !== undefined && isDefinite(error)
    if (!isRecalledRefusal && !(error instanceof Fenced)) throw error
    return decide(deps, request, { known: await findOut(deps, request), prepared: undefined }, context)
  }
}

/** The attempt left nothing behind: it took too long, or another attempt at the message gave it up. */
class Fenced extends ServiceError {
  override name = 'Fenced'
  constructor() {
    super('unavailable', { cause: new Error('the reservation expired, or another attempt gave it up') })
  }
}

interface Prepared {
  known: Preflight
  /** The reservation that the gateway made for the message. It is used or given back by `decide`. */
  prepared: Reserved | undefined
}

async function decide(
  deps: SendDeps,
  request: Request,
  { known, prepared }: Prepared,
  context: CallContext,
): Promise<Result> {
  const { signer, facts } = request
  let recipient: string
  try {
    if (known.earlier !== undefined) {
      const answer = answerRetry(known.earlier, facts.id)
      if (prepared !== undefined) await deps.charging.cancel(prepared, context)
      return answer
    }
    checkTime(facts, Date.now())
    recipient = recipientId(request, known)
    checkReferences(known.replyTo, known.thread)
    laneFor(signer, recipient, known.standing) // refuses before anything is reserved
  } catch (error) {
    if (prepared !== undefined) await deps.charging.cancel(prepared, context)
    throw error
  }

  const reserved = prepared ?? (await deps.charging.reserve(costOf(request, recipient), context))
  const appended = await deps.charging.finish(reserved, context, (reservation) =>
    appendDecided(deps, request, { first: known, recipient, traceparent: context.traceparent }, reservation),
  )
  return resultOf(facts.id, appended.lane, appended.outcome === 'duplicate')
}

/** Appends with the remembered standing of the pair. If it has changed, reads the standing and decides again. */
async function appendDecided(
  deps: SendDeps,
  request: Request,
  { first, recipient, traceparent }: { first: Preflight; recipient: string; traceparent: string },
  { operation, deadlineMs }: Reservation,
): Promise<Appended> {
  const { signer, facts } = request
  let known = first
  for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
    const lane = laneFor(signer, recipient, known.standing)
    const result = await deps.append({
      id: facts.id,
      digest: facts.digest,
      sender: signer,
      recipient,
      lane,
      threadId: facts.thread_id,
      envelope: request.envelope,
      expiryCap: expiryCap(facts),
      policy: known.standing.policy,
      contact: known.standing.contact,
      standingVersion: known.standingVersion,
      operation,
      deadlineMs,
      traceparent,
    })
    if (result.outcome !== 'stale') {
      if (lane === 'inbox') deps.standings.remember(signer, recipient, known)
      return settledOutcome(result)
    }
    known = await findOut(deps, request)
    // The append may be stale because another attempt at this message was accepted.
    if (known.earlier !== undefined) {
      return { outcome: 'duplicate', lane: answerRetry(known.earlier, facts.id).lane }
    }
    recipientId(request, known)
    checkReferences(known.replyTo, known.thread)
  }
  throw new ServiceError('unavailable', {
    cause: new Error('the recipient changed its settings during every attempt to decide'),
  })
}

/** The remembered standing of a message's pair; undefined if something must be read. */
function recall({ standings }: SendDeps, { signer, recipient, facts }: Request): Preflight | undefined {
  if (recipient.kind !== 'agent' || facts.reply_to !== null || facts.thread_id !== null) return undefined
  const known = standings.recall(signer, recipient.id)
  if (known === undefined) return undefined
  return { ...known, earlier: undefined, recipientRevoked: false, replyTo: undefined, thread: undefined }
}

function costOf({ signer, facts }: Request, recipient: string): Cost {
  return chargeOfMessage({ ...facts, sender: signer, recipient, payloadBytes: facts.payload_bytes })
}

/** The reservation that the gateway made for this message while identity consumed its nonce. */
function reservedOf({ id, digest }: Request['facts'], reserved: NonNullable<Request['reserved']>): Reserved {
  const { deadline_ms: deadlineMs, settled, shared } = reserved
  return { operation: messageOperation(id, digest), deadlineMs, settled, shared }
}

function findOut({ preflight }: SendDeps, { signer, recipient, facts }: Request): Promise<Preflight> {
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
 * A retry has the same id, sender and JCS bytes (spec 7.4). It is answered with the lane where the message is now (spec
 * 7.3).
 */
function answerRetry(earlier: NonNullable<Preflight['earlier']>, id: string): Result {
  if (!earlier.isIdentical) throw new ServiceError('id_conflict')
  return resultOf(id, earlier.lane, true)
}

/**
 * Checks that the recipient is an agent of this service and not revoked (spec 6.2). Messages to boards go to
 * `sendPost`.
 */
function recipientId({ recipient }: Request, { recipientRevoked }: Preflight): string {
  if (recipient.kind === 'foreign') throw new ServiceError('recipient_not_local')
  if (recipient.kind !== 'agent' || recipientRevoked) throw new ServiceError('recipient_unavailable')
  return recipient.id
}

function settledOutcome(result: Appended): Appended {
  if (result.outcome === 'conflict') throw new ServiceError('id_conflict')
  if (result.outcome === 'fenced') throw new Fenced()
  return result
}

/** The request's signature has authenticated the sender, also of a sealed envelope (spec 6.4, 7.3). */
function resultOf(id: string, lane: Lane, duplicate: boolean): Result {
  return { msg_id: id, status: 'accepted', lane, duplicate, sender_authenticated: true }
}
