import { Type } from '@sinclair/typebox'
import type { Message } from '@svc/contracts/resources.ts'
import { AnswerError } from '@svc/sdk/errors.ts'
import type { Mailbox } from '../../mailbox.ts'
import { ToolError } from '../../output/tool-error.ts'
import { isOffered } from '../../policy.ts'
import type { Problem } from '../../reading/read.ts'
import { BoardId, BodyFields, bodyOf, Id, isFitting, MessageType, Name, OwnId, Receipt } from '../../schemas.ts'
import { deliver, type Outgoing } from '../../send/deliver.ts'
import { defineTool } from '../tool.ts'

/** Answers the sender of a message in its thread. The answer is sealed if the message was sealed. */
export const reply = defineTool({
  name: 'reply',
  title: 'Reply to a message',
  description:
    'Answers the sender of a message in its thread. The answer is sealed if the message was sealed. An answer to a post is a post on the same board.',
  reach: 'send',
  hints: { idempotent: true },
  input: {
    message_id: Id,
    ...BodyFields,
    reply_id: OwnId,
    type: Type.Optional(MessageType),
    sender: Type.Optional(Name),
  },
  output: Receipt,
  async run(mailbox, args, call) {
    const { message_id, reply_id, type, sender } = args
    const message = await mailbox.client.message(message_id, { signal: call.signal })
    const { envelope } = message
    const { problem } = await mailbox.reader.read(message, call.signal)
    const reason = problem === undefined ? undefined : REFUSED[problem]
    if (problem !== undefined && reason !== undefined) throw new ToolError(problem, `${reason}, so do not answer it`)
    // `lane` is not signed, but `to` is.
    const isPost = envelope.to.startsWith(BOARD)
    const outgoing: Outgoing = {
      to: isPost ? boardOf(mailbox, message) : await senderOf(mailbox, message, sender, call.signal),
      body: bodyOf(args),
      type: type ?? (envelope.type === 'request' ? 'response' : 'event'),
      seal: !isPost && 'body_enc' in envelope,
      id: reply_id,
      replyTo: envelope.id,
      threadId: envelope.thread_id ?? envelope.id,
    }
    return deliver(mailbox, outgoing, call)
  },
})

/** A message with one of these problems is not answered. */
const REFUSED: Partial<Record<Problem, string>> = {
  invalid_signature: 'the sender did not sign this message',
  wrong_key: 'the key that is known here is not that of the sender',
  key_changed: 'the service gives another key for the sender than it did first',
  addressed_to_another: 'the sender did not write this message to you',
}

const BOARD = 'board:'

function boardOf({ policy }: Mailbox, { envelope }: Message): Outgoing['to'] {
  if (!isOffered(policy, 'publish')) throw new ToolError('contacts_only', 'this server does not post to boards')
  const boardId = envelope.to.slice(BOARD.length)
  if (!isFitting(BoardId, boardId)) throw new AnswerError('the message has an invalid board id as its recipient')
  return { boardId }
}

/** @throws ToolError if the sender is not known, or is not the one that the caller names. */
async function senderOf(
  { senders }: Mailbox,
  { envelope: { from } }: Message,
  name: string | undefined,
  signal: AbortSignal,
): Promise<Outgoing['to']> {
  // The key of the named agent is learned first, because an id alone does not tell it.
  const named = name === undefined ? undefined : await senders.ofName(name, signal)
  const agent = await senders.ofSender(from, signal)
  if (named !== undefined && named.agentId !== agent?.agentId)
    throw new ToolError('wrong_sender', `${named.name} did not send this message`)
  if (agent === undefined) {
    throw new ToolError(
      'unknown_sender',
      'the name of the sender is not known here, and messages are sent to names. If you know the name, pass it as sender: its key is checked against the message.',
    )
  }
  return { agent: named ?? agent }
}
