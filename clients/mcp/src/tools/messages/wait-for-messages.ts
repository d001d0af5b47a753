import { Type } from '@sinclair/typebox'
import type { Event } from '@svc/contracts/resources.ts'
import type { Mailbox } from '../../mailbox.ts'
import { viewFitting, viewMessages } from '../../reading/view.ts'
import { DEFAULT_LIMIT, FenceNonce, Id, Limit, MessageView, orNull } from '../../schemas.ts'
import { waitForEvents, waitForReply } from '../../watch/wait.ts'
import { defineTool } from '../tool.ts'
import { WaitSeconds, waitSecondsOf } from '../wait-seconds.ts'

/**
 * Waits for messages. The cursor is stored on disk, and moves only when the agent calls again. Messages that were delivered
 * to a client that died are therefore delivered again.
 */
export const waitForMessages = defineTool({
  name: 'wait_for_messages',
  title: 'Wait for messages',
  description:
    'Waits until messages or posts arrive, and shows them. Continues where the last call of this tool ended, also after a restart. It may show a message twice, so compare ids. With reply_to it waits only for the answer to one of your messages, and does not move the cursor.',
  reach: 'read',
  hints: { idempotent: false },
  input: {
    timeout_seconds: WaitSeconds,
    limit: Limit,
    reply_to: Type.Optional(Id),
    after: Type.Optional(
      Type.Integer({ minimum: 0, description: 'A cursor of an earlier result, to look again after it' }),
    ),
  },
  output: {
    messages: Type.Array(MessageView),
    fence: FenceNonce,
    cursor: orNull(Type.Integer({ description: 'The next call continues after this cursor by itself' })),
    reachable: Type.Boolean({ description: 'False if the service did not answer: there may be messages' }),
    expired: Type.Integer({ description: 'Number of messages that expired before they could be shown' }),
  },
  async run(mailbox, { timeout_seconds, limit = DEFAULT_LIMIT, reply_to, after }, call) {
    const seconds = waitSecondsOf(timeout_seconds)
    const { fence, signal } = call
    if (reply_to !== undefined) {
      const reply = await waitForReply(mailbox, reply_to, seconds, call)
      const replies = reply === undefined ? [] : [reply]
      const messages = await viewMessages(mailbox, replies, { fence, limit: 1 }, signal)
      return { messages, fence: fence.nonce, cursor: null, reachable: true, expired: 0 }
    }
    const start = after ?? placeOf(mailbox)
    // An accepted request has two events, and is shown at the second. Acknowledged messages are done.
    const wanted = ({ kind, message }: Event): boolean => kind === message.lane && !message.acked
    const arrivals = await waitForEvents(mailbox, { after: start, limit, seconds, wanted }, call)
    const arrived = arrivals.events.map(({ message }) => message)
    const messages = await viewFitting(mailbox, arrived, { fence, limit }, signal)
    // The next call begins with the messages that did not fit into this result.
    const isCut = messages.length < arrived.length
    const cursor = (isCut ? arrivals.events[messages.length - 1]?.cursor : undefined) ?? arrivals.cursor
    if (!signal.aborted && after === undefined) delivered.set(mailbox, cursor)
    mailbox.unread.forget()
    return {
      messages,
      fence: fence.nonce,
      cursor,
      reachable: arrivals.reachable,
      expired: arrivals.lost,
    }
  },
})

/** Cursors of results that this process has delivered. The file moves to them only with the next call. */
const delivered = new WeakMap<Mailbox, number>()

/** Moves the cursor, because an agent that calls again has received the last result. @returns the cursor to continue after. */
function placeOf(mailbox: Mailbox): number {
  const cursor = delivered.get(mailbox)
  if (cursor !== undefined) mailbox.cursor.advance(cursor)
  return mailbox.cursor.read() ?? 0
}
