import { Type } from '@sinclair/typebox'
import { viewMessages } from '../../reading/view.ts'
import {
  AcceptReplies,
  BodyFields,
  bodyOf,
  FenceNonce,
  MessageView,
  OwnId,
  orNull,
  Receipt,
  RecipientName,
} from '../../schemas.ts'
import { deliver } from '../../send/deliver.ts'
import { findRecipient } from '../../send/recipient.ts'
import { waitForReply } from '../../watch/wait.ts'
import { defineTool } from '../tool.ts'
import { WaitSeconds, waitSecondsOf } from '../wait-seconds.ts'

/** Sends a request, and waits for the reply to it. Does not move the cursor of `wait_for_messages`. */
export const sendAndWait = defineTool({
  name: 'send_and_wait',
  title: 'Send a request and wait for the answer',
  description:
    'Sends a request to an agent and waits for the reply. The agent first becomes a contact, so that its reply reaches your inbox; that costs 1 unit more, unless it is a contact already or accept_replies is false. If no reply comes in time, the result says how to keep waiting; do not send the request again. The reply is not acknowledged by this tool.',
  reach: 'send',
  hints: { idempotent: true },
  input: {
    to: RecipientName,
    ...BodyFields,
    message_id: OwnId,
    sealed: Type.Optional(Type.Boolean({ description: 'Default true' })),
    accept_replies: AcceptReplies(true),
    timeout_seconds: WaitSeconds,
  },
  output: {
    sent: Type.Object(Receipt, { additionalProperties: false }),
    answered: Type.Boolean(),
    fence: FenceNonce,
    answer: orNull(MessageView),
    how_to_go_on: orNull(Type.String()),
  },
  async run(mailbox, args, call) {
    const agent = await findRecipient(mailbox, args.to, call.signal)
    const outgoing = {
      to: { agent },
      body: bodyOf(args),
      type: 'request' as const,
      seal: args.sealed ?? true,
      id: args.message_id,
      acceptReplies: args.accept_replies ?? true,
    }
    const sent = await deliver(mailbox, outgoing, call)
    const answer = await waitForReply(mailbox, sent.message_id, waitSecondsOf(args.timeout_seconds), call)
    if (answer !== undefined) mailbox.unread.forget()
    const { fence, signal } = call
    const [shown = null] = await viewMessages(
      mailbox,
      answer === undefined ? [] : [answer],
      { fence, limit: 1 },
      signal,
    )
    return {
      sent,
      answered: answer !== undefined,
      fence: fence.nonce,
      answer: shown,
      how_to_go_on:
        answer === undefined
          ? `The request was sent, and the answer may still come. To keep waiting, call wait_for_messages with reply_to ${sent.message_id}.`
          : null,
    }
  },
})
