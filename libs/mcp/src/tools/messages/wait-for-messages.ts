import { Type } from '@sinclair/typebox'
import type { Event } from '@svc/contracts/resources.ts'
import type { Mailbox } from '../../mailbox.ts'
import { previewCharacters, viewMessage } from '../../reading/view.ts'
import { waitForEvents, waitForReply } from '../../watch/wait.ts'
import { FenceNonce, Id, Limit, MessageView, orNull } from '../schemas.ts'
import { defineTool } from '../tool.ts'
import { WaitSeconds, waitSecondsOf } from '../wait-seconds.ts'

const DEFAULT_LIMIT = 10

/**
 * Waits for what arrives. The place in the events is kept on disk, and moves when the agent comes back for more: what was
 * delivered to a client that died is delivered again.
 */
export const waitForMessages = defineTool({
  name: 'wait_for_messages',
  title: 'Wait for messages',
  description:
    'Waits until messages or posts arrive, and shows them. Goes on where the last call of this tool ended, also after a restart; it may show a message twice, so compare ids. With reply_to it waits for the answer to one of your messages alone, and leaves the place where it is.',
  reach: 'read',
  hints: { idempotent: false },
  input: {
    timeout_seconds: WaitSeconds,
    limit: Limit,
    reply_to: Type.Optional(Id),
    after: Type.Optional(
      Type.Integer({ minimum: 0, description: 'A cursor of an earlier result, to look again from there' }),
    ),
  },
  output: {
    messages: Type.Array(MessageView),
    fence: FenceNonce,
    cursor: orNull(Type.Integer({ description: 'The next call begins behind it by itself' })),
    reachable: Type.Boolean({ description: 'False where the service did not answer: there may be messages' }),
    expired: Type.Integer({ description: 'Messages that expired before they could be shown' }),
  },
  async run(mailbox, { timeout_seconds, limit = DEFAULT_LIMIT, reply_to, after }, call) {
    const seconds = waitSecondsOf(timeout_seconds)
    const { fence, signal } = call
    const characters = previewCharacters(mailbox, reply_to === undefined ? limit : 1)
    if (reply_to !== undefined) {
      const reply = await waitForReply(mailbox, reply_to, seconds, call)
      const messages = reply === undefined ? [] : [await viewMessage(mailbox, reply, fence, { characters }, signal)]
      return { messages, fence: fence.nonce, cursor: null, reachable: true, expired: 0 }
    }
    const start = after ?? placeOf(mailbox)
    // A request that was accepted has two events, of which the second one shows it; what was acknowledged is dealt with.
    const wanted = ({ kind, message }: Event): boolean => kind === message.lane && !message.acked
    const arrivals = await waitForEvents(mailbox, { after: start, limit, seconds, wanted }, call)
    const messages = []
    for (const { message } of arrivals.events) {
      messages.push(await viewMessage(mailbox, message, fence, { characters }, signal))
    }
    if (!signal.aborted && after === undefined) delivered.set(mailbox, arrivals.cursor)
    mailbox.unread.forget()
    return {
      messages,
      fence: fence.nonce,
      cursor: arrivals.cursor,
      reachable: arrivals.reachable,
      expired: arrivals.lost,
    }
  },
})

/** Where the results of this process end that were given to a client, and not yet moved the file. */
const delivered = new WeakMap<Mailbox, number>()

/** Who asks for more has what it was given. @returns where to go on. */
function placeOf(mailbox: Mailbox): number {
  const cursor = delivered.get(mailbox)
  if (cursor !== undefined) mailbox.cursor.advance(cursor)
  return mailbox.cursor.read() ?? 0
}
