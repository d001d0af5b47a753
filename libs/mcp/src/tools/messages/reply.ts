import { Type } from '@sinclair/typebox'
import type { Message } from '@svc/contracts/resources.ts'
import { AnswerError } from '@svc/sdk/errors.ts'
import type { Mailbox } from '../../mailbox.ts'
import { isOffered } from '../../policy.ts'
import { deliver, type Outgoing } from '../../send/deliver.ts'
import { ToolError } from '../../tool-error.ts'
import { BoardId, BodyFields, bodyOf, Id, isFitting, MessageType, Name, OwnId, Receipt } from '../schemas.ts'
import { defineTool } from '../tool.ts'

/** Answers the sender of a message in its thread; sealed where the message was. */
export const reply = defineTool({
  name: 'reply',
  title: 'Reply to a message',
  description:
    'Answers a message in its thread, to its sender: sealed if the message was sealed. An answer to a post is a post on the same board.',
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
      throw new ToolError('invalid_signature', 'its sender did not sign this message, so nobody waits for an answer')
    }
    // Where it is said to be from a board is not signed; where it was sent to is.
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
  if (!isFitting(BoardId, boardId)) throw new AnswerError('the message was sent to no board')
  return { boardId }
}

/** @throws ToolError where the name of the sender is not known: an envelope does not carry it (spec 13.5). */
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
      'the name of the sender is not known here, and messages go to names. If you know it, give it as sender: its key is checked.',
    )
  }
  if (agent.agentId !== from) throw new ToolError('wrong_sender', `${agent.name} did not send this message`)
  return { agent }
}
