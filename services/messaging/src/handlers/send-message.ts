import type { Cost, Reserved } from '@svc/charging/charging.ts'
import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { isDefinite, ServiceError } from '@svc/contracts/errors.ts'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import type { sendMessage as sendMessageCall } from '@svc/contracts/messaging.ts'
import { chargeOfMessage } from '@svc/contracts/price.ts'
import type { Lane } from '@svc/contracts/resources.ts'
import type { SendDeps } from '../deps.ts'
import { checkReferences, checkTime, expiryCap } from '../domain/acceptance.ts'
import { laneFor } from '../domain/admission.ts'
import type { Appended } from '../store/append.ts'
import type { Preflight } from '../store/preflight.ts'
import { sendPost } from './send-post.ts'

type Request = RequestOf<typeof sendMessageCall>
type Result = ReplyOf<typeof sendMessageCall>

/** How often a decision is made again because the recipient changed something meanwhile. */
const MAX_DECISIONS = 5

/**
 * Accepts one DM. The order of the checks is that of spec 7.2; those before "retry or conflict" are the gateway's. The
 * cost is reserved before the append and settled after it; an append whose ground moved is decided again.
 *
 * Where the cost was reserved ahead, the pair's standing is known from before and nothing is read first: the append holds
 * it against the log, and finds an earlier message with the id itself. That one is younger than budget's memory of its
 * charge, since both were signed within minutes of their acceptance, so a repeat is not charged again. Whatever is
 * refused on that way is decided once more from the beginning, so that the refusal is the first one in order and made on
 * what holds now. So is what was ended by another attempt at this very message, whose refusal says nothing of this one.
 */
export async function sendMessage(deps: SendDeps, request: Request, context: CallContext): Promise<Result> {
  if (request.recipient.kind === 'board') return sendPost(deps.posts, request.recipient.id, request, context)
  const { facts, reserved } = request
  const prepared = reserved === null ? undefined : reservedOf(facts, reserved)
  const recalled = prepared === undefined ? undefined : recall(deps, request)
  try {
    return await decide(deps, request, recalled ?? (await findOut(deps, request)), prepared, context)
  } catch (error) {
    const isRecalledRefusal = recalled !== undefined && isDefinite(error)
    if (!isRecalledRefusal && !(error instanceof Fenced)) throw error
    return decide(deps, request, await findOut(deps, request), undefined, context)
  }
}

/** The attempt was given up, by another one or because it took too long. It left nothing behind. */
class Fenced extends ServiceError {
  override name = 'Fenced'
  constructor() {
    super('unavailable', { cause: new Error('the reservation ended') })
  }
}

/** @param prepared what the message has taken already; it is used or given back here. */
async function decide(
  deps: SendDeps,
  request: Request,
  first: Preflight,
  prepared: Reserved | undefined,
  context: CallContext,
): Promise<Result> {
  const { signer, facts } = request
  let known = first
  let recipient: string
  try {
    if (known.earlier !== undefined) {
      const answer = answerRetry(known.earlier, request)
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
  const appended = await deps.charging.finish(
    reserved,
    context,
    async ({ operation, deadlineMs }): Promise<Appended> => {
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
          traceparent: context.traceparent,
        })
        if (result.outcome !== 'stale') {
          if (lane === 'inbox') deps.standings.remember(signer, recipient, known)
          return settledOutcome(result)
        }
        known = await findOut(deps, request)
        // What moved the ground may have been another attempt at this very message.
        if (known.earlier !== undefined) {
          return { outcome: 'duplicate', lane: answerRetry(known.earlier, request).lane }
        }
        recipientId(request, known)
        checkReferences(known.replyTo, known.thread)
      }
      throw new ServiceError('unavailable', {
        cause: new Error('the recipient changes faster than a message is decided'),
      })
    },
  )
  return resultOf(facts.id, appended.lane, appended.outcome === 'duplicate')
}

/** What is known of a message's pair from before; undefined where something must be looked up. */
function recall({ standings }: SendDeps, { signer, recipient, facts }: Request): Preflight | undefined {
  if (recipient.kind !== 'agent' || facts.reply_to !== null || facts.thread_id !== null) return undefined
  const known = standings.recall(signer, recipient.id)
  if (known === undefined) return undefined
  return { ...known, earlier: undefined, recipientRevoked: false, replyTo: undefined, thread: undefined }
}

function costOf({ signer, facts }: Request, recipient: string): Cost {
  return chargeOfMessage({ ...facts, sender: signer, recipient, payloadBytes: facts.payload_bytes })
}

/** What the gateway has taken for this message while its nonce was consumed. */
function reservedOf({ id, digest }: Request['facts'], reserved: NonNullable<Request['reserved']>): Reserved {
  const { deadline_ms: deadlineMs, settled, shared } = reserved
  return { operation: messageOperation(id, digest), deadlineMs, settled, shared }
}

function findOut({ preflight }: SendDeps, { signer, recipient, facts }: Request): Promise<Preflight> {
  return preflight({
    id: facts.id,
    sender: signer,
    recipient: recipient.kind === 'agent' ? recipient.id : null,
    replyTo: facts.reply_to,
    threadId: facts.thread_id,
  })
}

/** A retry has the same id, sender and JCS bytes (spec 7.4); the lane is the one that the message has now (spec 7.3). */
function answerRetry(earlier: NonNullable<Preflight['earlier']>, { signer, facts }: Request): Result {
  if (earlier.sender !== signer || earlier.digest !== facts.digest) throw new ServiceError('id_conflict')
  return resultOf(facts.id, earlier.lane, true)
}

/** The recipient is an agent of this service that is not revoked (spec 6.2). Boards do not come here: `sendPost` is theirs. */
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

/** The request's signature authenticated the sender, of a sealed envelope too (spec 6.4, 7.3). */
function resultOf(id: string, lane: Lane, duplicate: boolean): Result {
  return { msg_id: id, status: 'accepted', lane, duplicate, sender_authenticated: true }
}
