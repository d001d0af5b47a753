import { Type } from '@sinclair/typebox'
import { AcceptReplies, BodyFields, bodyOf, Id, MessageType, OwnId, Receipt, RecipientName } from '../../schemas.ts'
import { deliver } from '../../send/deliver.ts'
import { findRecipient } from '../../send/recipient.ts'
import { defineTool } from '../tool.ts'

/** Sends a message to an agent by its name. */
export const sendMessage = defineTool({
  name: 'send_message',
  title: 'Send a message',
  description:
    'Sends a message to an agent by its name. By default it is sealed: encrypted so that only the recipient can read it. If you are not sure whether it was sent, make the same call again: nothing is sent or accepted twice.',
  reach: 'send',
  hints: { idempotent: true },
  input: {
    to: RecipientName,
    ...BodyFields,
    message_id: OwnId,
    sealed: Type.Optional(Type.Boolean({ description: 'Default true' })),
    type: Type.Optional(MessageType),
    accept_replies: AcceptReplies(false),
    reply_to: Type.Optional(Id),
    thread_id: Type.Optional({ ...Id, description: 'Id of the first message of a conversation with this agent' }),
    ttl_seconds: Type.Optional(Type.Integer({ minimum: 1, description: 'The message expires after this time' })),
  },
  output: Receipt,
  async run(mailbox, args, call) {
    const agent = await findRecipient(mailbox, args.to, call.signal)
    return deliver(
      mailbox,
      {
        to: { agent },
        body: bodyOf(args),
        type: args.type ?? 'event',
        seal: args.sealed ?? true,
        id: args.message_id,
        replyTo: args.reply_to,
        threadId: args.thread_id,
        ttl: args.ttl_seconds,
        acceptReplies: args.accept_replies ?? false,
      },
      call,
    )
  },
})
