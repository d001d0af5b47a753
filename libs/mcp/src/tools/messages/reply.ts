import { Type } from '@sinclair/typebox'
import type { Message } from '@svc/contracts/resources.ts'
import { AnswerError } from '@svc/sdk/errors.ts'
import type { Mailbox } from '../../mailbox.ts'
import { ToolError } from '../../output/tool-error.ts'
import { deliver, type Outgoing } from '../../send/deliver.ts'
import { isOffered } from '../../startup/policy.ts'
import { BoardId, BodyFields, bodyOf, Id, isFitting, MessageType, Name, OwnId, Receipt } from '../schemas.ts'
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
    if (problem === 'invalid_signature') {
      throw new ToolError('invalid_signature', 'the sender did not sign this message, so do not answer it')
    }
    if (problem === 'addressed_to_another') {
      throw new ToolError('addressed_to_another', 'the sender did not write this message to you, so do not answer it')
    }
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

const BOARD = 'board:'

function boardOf({ policy }: Mailbox, { envelope }: Message): Outgoing['to'] {
  if (!isOffered(policy, 'publish')) throw new ToolError('contacts_only', 'this server does not post to boards')
  const boardId = envelope.to.slice(BOARD.length)
  if (!isFitting(BoardId, boardId)) throw new AnswerError('the message has an invalid board id as its recipient')
  return { boardId }
}

/** @throws ToolError if the sender's name is not known. An envelope does not contain it (spec 13.5). */
async function senderOf(
  { senders }: Mailbox,
  { envelope: { from } }: Message,
  name: string | undefined,
  signal: AbortSignal,
): Promise<Outgoing['to']> {
  const agent = name === undefined ? await senders.ofAgent(from, signal) : await senders.ofName(name, signal)
  if (agent === undefined) {
    throw new ToolError(
      'unknown_sender',
      'the name of the sender is not known here, and messages are sent to names. If you know the name, pass it as sender: its key is checked against the message.',
    )
  }
  if (agent.agentId !== from) throw new ToolError('wrong_sender', `${agent.name} did not send this message`)
  return { agent }
}
