import { Type } from '@sinclair/typebox'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { CURSOR_HEADERS, cursorHeaders } from '../http/cursor-headers.ts'
import { afterEvent, lastEventId } from '../http/query.ts'
import type { Streams } from '../http/streams.ts'

const EVENT_STREAM = 'text/event-stream'
/** A proxy that compresses collects bytes first, unless it is told not to transform (RFC 9111). */
const CACHE_CONTROL = 'no-store, no-transform'

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
      summary: 'Events of the caller as they happen',
      description: [
        'Server-sent events. `event: message` has an Event in `data` and its cursor in `id`, which is the last field. `event: cursor` tells the client how far',
        'it has read. It comes after the history was replayed, after a silent interval, and last before the server closes the stream,',
        'after five minutes at most. The client then reconnects with `Last-Event-ID` and a new signature. A client that wants only new',
        'events passes the `X-SVC-Latest-Cursor` of an answer to `GET /v2/events` as `after`.',
      ].join(' '),
      auth: 'required',
      isBulk: true,
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
            'Cache-Control': {
              schema: Type.Literal(CACHE_CONTROL),
              description: 'Caches must not store the stream, and proxies must not compress it',
              example: CACHE_CONTROL,
            },
            'X-Accel-Buffering': {
              schema: Type.Literal('no'),
              description: 'Tells proxies not to buffer events',
              example: 'no',
            },
          },
        },
      },
      errors: ['invalid_cursor', 'stream_limit', 'stream_capacity'],
    }).handle(async ({ signer, query, headers, context }) => {
      const after = headers['last-event-id'] ?? query.after
      const { bytes, ...ends } = await streams.open({ agent_id: signer, after }, context)
      return {
        status: 200,
        text: '',
        stream: bytes,
        headers: {
          'content-type': `${EVENT_STREAM}; charset=utf-8`,
          ...cursorHeaders(ends),
          'cache-control': CACHE_CONTROL,
          'x-accel-buffering': 'no',
        },
      }
    }),
  ]
}
