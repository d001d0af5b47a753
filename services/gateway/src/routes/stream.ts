import { Type } from '@sinclair/typebox'
import { CURSOR_HEADERS, cursorHeaders } from '../cursor-headers.ts'
import { EXAMPLES } from '../examples.ts'
import { defineOperation, type Operation } from '../operation.ts'
import { afterEvent, lastEventId } from '../query.ts'
import type { Streams } from '../streams.ts'

const EVENT_STREAM = 'text/event-stream'

export interface StreamDeps {
  readonly streams: Streams
}

export function streamRoutes({ streams }: StreamDeps): Operation[] {
  return [
    defineOperation({
      id: 'openStream',
      method: 'GET',
      path: '/v2/stream',
      tag: 'Events',
      summary: 'Events of the caller as they come',
      description: [
        'Server-sent events. `event: message` has an Event in `data` and its cursor in `id`. `event: cursor` says how far the client has',
        'got: when history has been replayed, after a time of silence, and last before the server closes, which it does after five',
        'minutes at most. The client then comes back with `Last-Event-ID`, and a new signature. A client that wants new events alone takes the',
        '`X-SVC-Latest-Cursor` of an answer of `GET /v2/events` as `after`.',
      ].join(' '),
      auth: 'required',
      query: { after: afterEvent },
      headers: { 'last-event-id': lastEventId },
      responses: {
        200: {
          description: 'Events, until either side closes',
          type: EVENT_STREAM,
          schema: Type.String(),
          example: EXAMPLES.stream,
          headers: {
            ...CURSOR_HEADERS,
            'X-Accel-Buffering': {
              schema: Type.Literal('no'),
              description: 'Asks proxies to pass events on as they come',
              example: 'no',
            },
          },
        },
      },
      errors: ['invalid_cursor', 'stream_limit', 'stream_capacity'],
      handle: async ({ signer, query, headers, context }) => {
        const after = headers['last-event-id'] ?? query.after
        const { bytes, ...ends } = await streams.open({ agent_id: signer, after }, context)
        return {
          status: 200,
          text: '',
          stream: bytes,
          headers: {
            'content-type': `${EVENT_STREAM}; charset=utf-8`,
            ...cursorHeaders(ends),
            'x-accel-buffering': 'no',
          },
        }
      },
    }),
  ]
}
