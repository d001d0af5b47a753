import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import type { sendMessage as sendMessageCall } from '@svc/contracts/messaging.ts'
import { costUnits } from '@svc/contracts/price.ts'
import type { PostDeps } from '../../deps.ts'
import { checkReferences, checkTime, expiryCap } from '../../domain/acceptance.ts'
import { checkPost } from '../../domain/board-access.ts'
import type { PostAppended } from '../../store/send/append-posts.ts'

type Request = Omit<RequestOf<typeof sendMessageCall>, 'recipient'>
type Result = ReplyOf<typeof sendMessageCall>

/**
 * Accepts one post. The checks run in the order of spec 7.2; the gateway has done those before "retry or conflict". The right
 * to post and the subscribers are read at one moment between request and answer. Later changes apply to the next post.
 */
export async function sendPost(
  deps: PostDeps,
  boardId: string,
  { signer, facts, envelope }: Request,
  context: CallContext,
): Promise<Result> {
  const { id, digest } = facts
  const known = await deps.preflight({
    id,
    digest,
    sender: signer,
    boardId,
    replyTo: facts.reply_to,
    threadId: facts.thread_id,
  })
  if (known.earlier !== undefined) {
    // A retry has the same id, sender and JCS bytes (spec 7.4), even if the board has changed since.
    if (!known.earlier.isIdentical) throw new ServiceError('id_conflict')
    return resultOf(id, true)
  }
  checkTime(facts, Date.now())
  const access = await deps.boards.judgePost(boardId, signer, context)
  checkPost(access)
  checkReferences(known.replyTo, known.thread)

  const { subscribers } = access
  const operation = messageOperation(id, digest)
  // A post is charged for at least one recipient (spec 11.2).
  const units = costUnits(facts.payload_bytes, Math.max(1, subscribers.length))
  const cost = { operation, agentId: signer, units, introductionPeer: null }
  const { outcome } = await deps.charging.charge(cost, context, async ({ deadlineMs }) =>
    settledOutcome(
      await deps.append({
        id,
        digest,
        sender: signer,
        boardId,
        subscribers,
        threadId: facts.thread_id,
        envelope,
        expiryCap: expiryCap(facts),
        operation,
        deadlineMs,
        traceparent: context.traceparent,
      }),
    ),
  )
  return resultOf(id, outcome === 'duplicate')
}

function settledOutcome(result: PostAppended): PostAppended {
  if (result.outcome === 'conflict') throw new ServiceError('id_conflict')
  // This attempt took too long and its reservation was given up. A retry finds out whether another attempt succeeded.
  if (result.outcome === 'fenced')
    throw new ServiceError('unavailable', { cause: new Error('the reservation expired') })
  return result
}

/** The request's signature has authenticated the author (spec 7.3). */
function resultOf(id: string, duplicate: boolean): Result {
  return { msg_id: id, status: 'accepted', lane: 'board', duplicate, sender_authenticated: true }
}
