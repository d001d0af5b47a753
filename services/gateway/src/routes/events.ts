import { listEvents } from '@svc/contracts/messaging.ts'
import { EventCursor, Events } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { textAnswer } from '../answer.ts'
import { EXAMPLES } from '../examples.ts'
import { defineOperation, type Operation } from '../operation.ts'
import { afterEvent, limit } from '../query.ts'

/** Lets a client whose cursor is older tell loss from quiet (decisions 51). */
const EARLIEST_CURSOR_HEADER = 'x-svc-earliest-cursor'

export function eventRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'listEvents',
      method: 'GET',
      path: '/v2/events',
      tag: 'Events',
      summary: 'Events of the caller in the order of their cursors',
      auth: 'required',
      query: { after: afterEvent, limit },
      responses: {
        200: {
          description: 'A page',
          schema: Events,
          example: EXAMPLES.events,
          headers: {
            'X-SVC-Earliest-Cursor': {
              schema: EventCursor,
              description: 'Cursor of the oldest retained event; of the next one to come, where there is none',
              example: 1,
            },
          },
        },
      },
      errors: ['invalid_cursor'],
      handle: async ({ signer, query, context }) => {
        const { meta, text } = await bus.callText(listEvents, { agent_id: signer, ...query }, context)
        return textAnswer(200, text, { [EARLIEST_CURSOR_HEADER]: String(meta.earliest) })
      },
    }),
  ]
}
