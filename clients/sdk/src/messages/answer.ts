import type { Message } from '@svc/contracts/resources.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import { VerificationError } from '../errors.ts'
import type { Draft } from './compose.ts'
import type { Opened } from './open.ts'

/** A received message that was opened. */
export interface Received extends Opened {
  readonly id: string
  readonly type: EnvelopeType
  /** The root of its thread: the message itself, unless it is in the thread of an earlier one. */
  readonly threadId: string
  /** As the service gave it, with the envelope and the lane. */
  readonly message: Message
}

/** Returned by a handler of `process`, it is sent as an envelope of the type `error`: the request failed. */
export class ErrorAnswer {
  readonly body: unknown

  /** @param body any JSON value. */
  constructor(body: unknown) {
    this.body = body
  }
}

/** The answer to a request is an envelope of the type `error`: the recipient says that the request failed. */
export class RequestFailed extends Error {
  override name = 'RequestFailed'
  readonly reply: Received

  constructor(reply: Received) {
    super(`the request ${reply.message.envelope.reply_to} failed, says ${reply.message.envelope.from}`)
    this.reply = reply
  }
}

export function receivedOf(message: Message, opened: Opened): Received {
  const { id, type, thread_id } = message.envelope
  return { ...opened, id, type, threadId: thread_id ?? id, message }
}

/**
 * The answer to a message: to its verified sender, or to the board of a post.
 * @throws VerificationError if the sender was not verified, or its name is not known.
 * @throws TypeError for a sealed post, because nothing says for whom to seal the answer.
 */
export function draftAnswer(
  { id, threadId, sealed, sender, verified, message }: Received,
  body: unknown,
  type: EnvelopeType,
): Draft {
  const { from, to } = message.envelope
  const answer = { body, type, replyTo: id, threadId }
  // The lane is only what the service says.
  if (to.startsWith('board:')) {
    if (sealed)
      throw new TypeError(`${id} is a sealed post: to answer it, send a message with the key of a reader as \`seal\``)
    return { ...answer, to }
  }
  if (!verified) throw new VerificationError('unknown_sender', `the sender of ${id} was not verified`)
  const recipient = isAgentId(from) ? sender?.name : from
  if (recipient !== undefined) return { ...answer, to: recipient }
  throw new VerificationError(
    'unknown_sender',
    `no name is known for ${from}, the sender of ${id}: look up its name first`,
  )
}
