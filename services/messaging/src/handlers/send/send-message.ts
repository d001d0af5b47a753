import type { CallContext, ReplyOf } from '@svc/contracts/define.ts'
import type { sendMessage as sendMessageCall } from '@svc/contracts/messaging.ts'
import { chargeOfMessage } from '@svc/contracts/price.ts'
import type { Lane } from '@svc/contracts/resources.ts'
import type { SendDeps } from '../../deps.ts'
import { appendJudged, Fenced } from './append-judged.ts'
import { judge, lookUp, type SendRequest, type Verdict } from './judge.ts'
import { type Attempt, firstAttempt, giveBack, isRefusedWithoutLookup, PLAIN } from './reserved-ahead.ts'
import { sendPost } from './send-post.ts'

type Result = ReplyOf<typeof sendMessageCall>

/**
 * Accepts one DM, or passes a post on. The gateway has checked shape, sender and size.
 *
 * An attempt is repeated once, from the beginning, in two cases. If it was fenced, another attempt at the message may
 * have done that, and the message may still be accepted. If it was refused without a look-up, it may be a repeat, and the
 * answer must be the first in the order of spec 7.2, judged by the state in the database.
 */
export async function sendMessage(deps: SendDeps, request: SendRequest, context: CallContext): Promise<Result> {
  if (request.recipient.kind === 'board') return sendPost(deps.posts, request.recipient.id, request, context)
  const attempt = firstAttempt(deps, request)
  try {
    return await send(deps, request, attempt, context)
  } catch (error) {
    if (!(error instanceof Fenced) && !isRefusedWithoutLookup(attempt, error)) throw error
    return send(deps, request, PLAIN, context)
  }
}

/** The steps, in the order of spec 7.2. docs/architecture.md has the state after each of them. */
async function send(deps: SendDeps, request: SendRequest, attempt: Attempt, context: CallContext): Promise<Result> {
  const known = attempt.remembered ?? (await lookUp(deps, request))
  let verdict: Verdict
  try {
    verdict = judge(request, known, Date.now())
  } catch (refusal) {
    await giveBack(deps, attempt, context)
    throw refusal
  }
  if (verdict.kind === 'repeat') {
    await giveBack(deps, attempt, context)
    return resultOf(request, verdict.lane, true)
  }
  const cost = costOf(request, verdict.recipient)
  const reserved = attempt.reserved ?? (await deps.charging.reserve(cost, context))
  const { lane, outcome } = await deps.charging.finish(reserved, context, (reservation) =>
    appendJudged(deps, { request, known, reservation, traceparent: context.traceparent }),
  )
  return resultOf(request, lane, outcome === 'duplicate')
}

function costOf({ signer, facts }: SendRequest, recipient: string): ReturnType<typeof chargeOfMessage> {
  return chargeOfMessage({ ...facts, sender: signer, recipient, payloadBytes: facts.payload_bytes })
}

/** The request's signature has authenticated the sender, also of a sealed envelope (spec 6.4, 7.3). */
function resultOf({ facts }: SendRequest, lane: Lane, duplicate: boolean): Result {
  return { msg_id: facts.id, status: 'accepted', lane, duplicate, sender_authenticated: true }
}
