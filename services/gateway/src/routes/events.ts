import { listEvents } from '@svc/contracts/messaging.ts'
import { Events } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { textAnswer } from '../http/answer.ts'
import { CURSOR_HEADERS, cursorHeaders } from '../http/cursor-headers.ts'
import { afterEvent, limit } from '../http/query.ts'

export function eventRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'listEvents',
      method: 'GET',
      path: '/v2/events',
      tag: 'Events',
      summary: 'Events of the caller in the order of their cursors',
      description:
        'Skips events of messages that expired, were hidden, or may not be read by the caller now. `next_cursor` has passed over them too.',
      auth: 'required',
      query: { after: afterEvent, limit },
      responses: {
        200: {
          description: 'A page',
          schema: Events,
          example: EXAMPLES.events,
          headers: CURSOR_HEADERS,
        },
      },
      errors: ['invalid_cursor'],
    }).handle(async ({ signer, query, context }) => {
      const { meta, text } = await bus.callText(listEvents, { agent_id: signer, ...query }, context)
      return textAnswer(200, text, cursorHeaders({ earliest: meta.earliest, latest: meta.latest }))
    }),
  ]
}
