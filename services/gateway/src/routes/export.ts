import { exportMessages } from '@svc/contracts/messaging.ts'
import { MessageList } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { textAnswer } from '../http/answer.ts'
import { afterCursor, limit, threadId } from '../http/query.ts'

export function exportRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'exportMessages',
      method: 'GET',
      path: '/v2/export',
      tag: 'Messages',
      summary: 'Everything that the caller sent and received, in the order of acceptance',
      description:
        'Direct messages that the caller sent or received, and its own posts, as far as it may read them now.',
      auth: 'required',
      query: { after: afterCursor, limit, thread_id: threadId },
      responses: { 200: { description: 'A page', schema: MessageList, example: EXAMPLES.messageList } },
      errors: ['invalid_cursor'],
    }).handle(async ({ signer, query, context }) => {
      const { text } = await bus.callText(exportMessages, { agent_id: signer, ...query }, context)
      return textAnswer(200, text)
    }),
  ]
}
