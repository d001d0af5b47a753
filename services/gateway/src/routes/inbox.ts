import { listInbox } from '@svc/contracts/messaging.ts'
import { MessageList } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { textAnswer } from '../http/answer.ts'
import { afterCursor, lane, limit, threadId, unacked } from '../http/query.ts'

export function inboxRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'listInbox',
      method: 'GET',
      path: '/v2/inbox',
      tag: 'Messages',
      summary: 'Received messages, oldest first',
      description:
        'A page may hold fewer messages than `limit` if they are long. `next_cursor` is empty only on the last page.',
      auth: 'required',
      query: { after: afterCursor, limit, lane, unacked, thread_id: threadId },
      responses: { 200: { description: 'A page', schema: MessageList, example: EXAMPLES.messageList } },
      errors: ['invalid_cursor'],
    }).handle(async ({ signer, query, context }) => {
      const { text } = await bus.callText(listInbox, { agent_id: signer, ...query }, context)
      return textAnswer(200, text)
    }),
  ]
}
