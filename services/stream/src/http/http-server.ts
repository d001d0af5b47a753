import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listenHost } from '@svc/config/host.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { requestIdOf } from '@svc/telemetry/trace.ts'
import { EventStream, type Sources } from '../streams/event-stream.ts'
import type { Seat, Streams } from '../streams/streams.ts'

interface HttpServerOptions {
  readonly host: string
  readonly port: number
  readonly maxSeconds: number
  readonly heartbeatSeconds: number
  readonly streams: Streams
  readonly sources: Sources
  readonly logger: Logger
}

interface StreamServer extends AsyncDisposable {
  readonly port: number
}

const TICKET_PATH = /^\/streams\/([A-Za-z0-9_-]{43})$/
/** Timeout of a request. Gateways send theirs at once. */
const REQUEST_LIMIT_MS = 5_000
const MAX_HEADER_BYTES = 4_096
const SLOW_SECONDS = 30
/** Shutdown timeout for all streams together. */
const CLOSE_LIMIT_MS = 6_000

/**
 * Serves streams to gateways, by the tickets that `svc.stream.open` returns. `GET /streams/<ticket>` fetches a stream,
 * once. `DELETE` on the same path ends it with a last cursor. Without a valid ticket the answer is always 404. Headers
 * of the answer carry the cursors of spec 9.6, as of the first page.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<StreamServer> {
  const { host, port, streams, logger } = options
  const running = new Set<Promise<void>>()
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: REQUEST_LIMIT_MS, requestTimeout: REQUEST_LIMIT_MS },
    (request, response) => {
      const answering = answer(options, request, response)
        .catch((error: unknown) => {
          logger.error({ err: error }, 'answering a request for a stream failed')
          response.destroy()
        })
        .finally(() => running.delete(answering))
      running.add(answering)
    },
  )
  server.listen(port, listenHost(host))
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const limit = setTimeout(() => server.closeAllConnections(), CLOSE_LIMIT_MS)
      streams.closeAll()
      await Promise.all(running)
      const closed = once(server, 'close')
      server.close()
      server.closeIdleConnections()
      await closed
      clearTimeout(limit)
    },
  }
}

async function answer(options: HttpServerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const ticket = TICKET_PATH.exec(request.url ?? '')?.[1]
  if (ticket !== undefined && request.method === 'GET') {
    const seat = options.streams.claim(ticket)
    if (seat !== undefined) return serve(options, seat, response)
  } else if (ticket !== undefined && request.method === 'DELETE') {
    const stream = options.streams.find(ticket)?.stream
    stream?.close()
    if (stream !== undefined) return end(response, 204)
  }
  return end(response, 404)
}

async function serve(options: HttpServerOptions, seat: Seat, response: ServerResponse): Promise<void> {
  const { streams, sources, maxSeconds, heartbeatSeconds, logger } = options
  const stream = new EventStream(sources, {
    agentId: seat.agentId,
    after: seat.after,
    maxSeconds,
    heartbeatSeconds,
    slowSeconds: SLOW_SECONDS,
    traceparent: seat.traceparent,
  })
  seat.stream = stream
  try {
    const first = await stream.prepare().catch((error: unknown) => {
      logger.warn({ err: error, request_id: requestIdOf(seat.traceparent) }, 'a stream could not start')
      return undefined
    })
    if (first === undefined) return end(response, 503)
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-svc-earliest-cursor': String(first.earliest),
      'x-svc-latest-cursor': String(first.latest),
    })
    await stream.writeTo(response)
  } catch (error) {
    logger.error({ err: error, request_id: requestIdOf(seat.traceparent) }, 'a stream failed')
    response.destroy()
  } finally {
    stream.dispose()
    streams.leave(seat)
  }
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}
