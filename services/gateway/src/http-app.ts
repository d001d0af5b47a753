import type { Server } from 'node:http'
import { pipeline as joinStreams, type Readable } from 'node:stream'
import { type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent, requestIdOf } from '@svc/telemetry/trace.ts'
import { inRootSpan } from '@svc/telemetry/tracing.ts'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Answer } from './answer.ts'
import { isBodyLeft } from './body.ts'
import type { ConnectionLimits } from './connection-limits.ts'
import { answerUnread, createHttpServer, SERVER_LIMITS, type ServerLimits } from './connections.ts'
import { createCors, PREFLIGHT_HEADERS } from './cors.ts'
import { acceptsGzip, isKnown } from './document.ts'
import { asServiceError, errorAnswer } from './errors.ts'
import { httpConnections, httpRequests, httpSeconds, httpUnderWay } from './http-metrics.ts'
import { kindOf, type Load, Overloaded, type Slot } from './load.ts'
import type { Operation } from './operation.ts'
import type { Outflow } from './outflow.ts'
import type { Pipeline } from './pipeline.ts'
import { isLong, sendSlices } from './slices.ts'

export interface HttpAppOptions extends ConnectionLimits {
  readonly operations: readonly Operation[]
  readonly pipeline: Pipeline
  readonly load: Load
  readonly outflow: Outflow
  readonly corsOrigins: readonly string[]
  readonly logger: Logger
  /** True from the moment the process is asked to stop: every answer then closes its connection. */
  readonly isDraining: () => boolean
  /** For tests, which have less time. */
  readonly limits?: Partial<ServerLimits>
}

/** Whatever no route matches, HEAD and OPTIONS too; a signature it carries must be valid all the same (spec 3.1, 3.11). */
const NOT_FOUND = undescribed('notFound', () => {
  throw new ServiceError('not_found')
})

/** A browser asks before it sends what a page could not have sent by itself; it signs nothing. */
const PREFLIGHT = undescribed('preflight', () => async () => ({ status: 204, text: '', headers: PREFLIGHT_HEADERS }))

/**
 * Builds the HTTP server around the pipeline. Fastify routes and runs the connections; it neither reads nor parses bodies and
 * validates nothing, because its ways change what was sent (ADR 22): a body is part of what is signed, on every
 * method, and reading it comes after the rate limit and before everything else (pipeline.ts).
 */
export function createHttpApp({
  operations,
  pipeline,
  load,
  outflow,
  corsOrigins,
  logger,
  isDraining,
  limits: changed,
  ...connectionLimits
}: HttpAppOptions): FastifyInstance {
  const limits = { ...SERVER_LIMITS, ...changed }
  const app = fastify({
    logger: false,
    genReqId: newTraceparent,
    serverFactory: (handle) => createHttpServer({ limits, connectionLimits, handle }),
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: () => {}, // connections.ts has one
    frameworkErrors: (_error, request, reply) => {
      // A path that cannot be decoded is no path of the API.
      run(NOT_FOUND, request as FastifyRequest, reply as FastifyReply)
    },
    routerOptions: {
      maxParamLength: limits.maxHeaderSize,
      querystringParser: () => ({}), // query.ts reads the raw target
    },
  })
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  const cors = createCors(corsOrigins)
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      handler: (request, reply) => run(operation, request, reply),
    })
  }
  app.setNotFoundHandler((request, reply) => run(cors.isPreflight(request.raw) ? PREFLIGHT : NOT_FOUND, request, reply))
  app.setErrorHandler((error, request, reply) => sendError(error, NOT_FOUND, request, reply))
  let underWay = 0
  const levels = [
    httpUnderWay.read(() => [[{}, underWay]]),
    httpConnections.read(async () => [[{}, await connectionsOf(app.server)]]),
  ]
  app.addHook('onClose', async () => {
    for (const level of levels) level[Symbol.dispose]()
  })
  return app

  function run(operation: Operation, request: FastifyRequest, reply: FastifyReply): void {
    const params = request.params as Record<string, string>
    const beganMs = performance.now()
    underWay += 1
    const attributes = { 'http.request.method': operation.method, 'http.route': operation.path }
    inRootSpan(operation.id, request.id, attributes, (traceparent) =>
      pipeline({ raw: request.raw, traceparent, operation, params }),
    )
      .then(
        (answer) => {
          send(answer, operation, request, reply)
          answered(operation, beganMs, answer.stream === undefined ? reply.raw.statusCode : answer.status, 'ok')
        },
        (error: unknown) => {
          const { status, code } = sendError(error, operation, request, reply)
          answered(operation, beganMs, status, code)
        },
      )
      .catch((error: unknown) => {
        logger.error({ err: error, request_id: requestIdOf(request.id) }, 'an answer could not be written')
        request.raw.destroy()
      })
      .finally(() => {
        underWay -= 1
      })
  }

  function answered({ id }: Operation, beganMs: number, status: number, code: string): void {
    httpRequests.add({ operation: id, status: String(status), code })
    httpSeconds.observe({ operation: id }, (performance.now() - beganMs) / 1_000)
  }

  function send(answer: Answer, operation: Operation, request: FastifyRequest, reply: FastifyReply): void {
    const headers = headersOf(answer, request)
    const { status, text, stream, document } = answer
    if (stream !== undefined) {
      sendStream(status, stream, headers, reply)
      return
    }
    if (document !== undefined) sendDocument(document, headers, request, reply)
    else if (isLong(text)) sendBytes(status, Buffer.from(text), headers, reply)
    else reply.code(status).headers(headers).send(text)
    if (reply.raw.writableLength > 0) trackAnswer(Buffer.byteLength(text), operation, reply)
  }

  /** A request whose answer the client has not taken yet is still under way. */
  function trackAnswer(bytes: number, operation: Operation, { raw }: FastifyReply): void {
    const { clients } = connectionLimits
    const client = clients.ofRequest(raw.req)
    const forwardedFor = clients.isForwarded(raw.req) ? client : undefined
    const slot: Slot = { kind: kindOf(operation, raw.req.headers), forwardedFor }
    load.resume(slot)
    outflow.track(raw, { client, bytes, onLeft: () => load.end(slot) })
  }

  /** Each end closes the other: a client that is gone frees what it held, and what was lost breaks the connection. */
  function sendStream(status: number, stream: Readable, headers: Record<string, string>, reply: FastifyReply): void {
    reply.hijack()
    const { raw } = reply
    if (raw.destroyed) {
      stream.destroy()
      return
    }
    raw.writeHead(status, headers)
    raw.flushHeaders()
    joinStreams(stream, raw, () => {})
  }

  function sendDocument(
    { plain, gzip }: NonNullable<Answer['document']>,
    given: Record<string, string>,
    { headers: asked }: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const vary = given.vary === undefined ? 'accept-encoding' : `${given.vary}, accept-encoding`
    const headers: Record<string, string> = { ...given, vary }
    if (isKnown(headers.etag, asked['if-none-match'])) reply.code(304).headers(headers).send()
    else if (!acceptsGzip(asked['accept-encoding'])) sendBytes(200, plain, headers, reply)
    else sendBytes(200, gzip, { ...headers, 'content-encoding': 'gzip' }, reply)
  }

  function sendBytes(status: number, body: Buffer, headers: Record<string, string>, reply: FastifyReply): void {
    reply.hijack()
    reply.raw.writeHead(status, { ...headers, 'content-length': body.length })
    sendSlices(reply.raw, body)
  }

  function sendError(
    thrown: unknown,
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
  ): { status: number; code: ErrorCode } {
    const error = asServiceError(thrown)
    log(error, request)
    const answer = errorAnswer(error)
    if (isBodyLeft(request.raw)) {
      reply.hijack()
      answerUnread(reply.raw, answer, headersOf(answer, request))
    } else send(answer, operation, request, reply)
    return { status: answer.status, code: error.code }
  }

  function headersOf({ headers }: Answer, request: FastifyRequest): Record<string, string> {
    return {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': requestIdOf(request.id),
      'cache-control': 'no-store',
      ...cors.headersFor(request.headers),
      ...headers,
      ...(isDraining() ? { connection: 'close' } : undefined),
    }
  }

  function log(error: ServiceError, request: FastifyRequest): void {
    if ((error.code !== 'internal' && error.code !== 'unavailable') || error instanceof Overloaded) return
    const fields = {
      err: error,
      request_id: requestIdOf(request.id),
      method: request.method,
      route: request.routeOptions.url,
    }
    if (error.code === 'internal') logger.error(fields, 'request failed')
    else logger.warn(fields, 'request unavailable')
  }
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

/** An operation that no path names; nothing of the request is looked at, so nothing can be wrong with it first. */
function undescribed(id: string, prepare: Operation['prepare']): Operation {
  return {
    id,
    method: 'GET',
    path: '',
    tag: '',
    summary: '',
    auth: 'optional',
    keyFrom: 'directory',
    allowRevoked: false,
    isRegistration: false,
    params: {},
    query: {},
    body: undefined,
    responses: {},
    errors: [],
    prepare,
  }
}
