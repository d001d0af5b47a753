import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { ERRORS, FAULTS, ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent, requestIdOf } from '@svc/telemetry/trace.ts'
import { inRootSpan } from '@svc/telemetry/tracing.ts'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { kindOf, type Operation } from './api/operation.ts'
import { AnswerWriter } from './http/answer-writer.ts'
import { type ConnectionGuards, createHttpServer } from './http/connections/connections.ts'
import { SERVER_LIMITS, type ServerLimits } from './http/connections/server-limits.ts'
import { createCors, PREFLIGHT_HEADERS } from './http/cors.ts'
import type { Load } from './http/load/load.ts'
import type { Outflow } from './http/load/outflow.ts'
import { httpConnections, httpMaxConnections, httpRequests, httpSeconds, httpUnderWay } from './metrics.ts'
import type { Pipeline } from './pipeline.ts'

interface HttpAppOptions extends ConnectionGuards {
  readonly operations: readonly Operation[]
  readonly pipeline: Pipeline
  readonly load: Load
  readonly outflow: Outflow
  readonly corsOrigins: readonly string[]
  readonly logger: Logger
  /** True once the process was asked to stop. From then on every answer closes its connection. */
  readonly isDraining: () => boolean
  /** Shorter limits, for tests. */
  readonly limits?: Partial<ServerLimits>
}

/** Handles every request that matches no route, HEAD and OPTIONS included. A signature must still be valid (spec 3.1, 3.11). */
const NOT_FOUND = undescribed('notFound', () => {
  throw new ServiceError('not_found')
})

/** A CORS preflight: a browser asks before it sends a request that a plain page could not send. Preflights are unsigned. */
const PREFLIGHT = undescribed('preflight', () => async () => ({ status: 204, text: '', headers: PREFLIGHT_HEADERS }))

/**
 * Builds the HTTP server around the pipeline. Fastify only routes and manages connections. It does not read, parse or validate
 * bodies, because its defaults change the bytes (ADR 22), and the signature covers the body for every method. The pipeline reads
 * the body, after the checks of rate, head and load and before the signature.
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
  ...guards
}: HttpAppOptions): FastifyInstance {
  const limits = { ...SERVER_LIMITS, ...changed }
  const app = fastify({
    logger: false,
    genReqId: newTraceparent,
    serverFactory: (handle) => createHttpServer({ limits, handle, ...guards }),
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: () => {}, // connections.ts handles client errors
    frameworkErrors: (_error, request, reply) => {
      // A path that cannot be decoded matches no route.
      runner.runRequest(NOT_FOUND, request as FastifyRequest, reply as FastifyReply)
    },
    routerOptions: {
      maxParamLength: limits.maxHeaderSize,
      querystringParser: () => ({}), // query.ts reads the raw target
    },
  })
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  const cors = createCors(corsOrigins)
  const writer = new AnswerWriter({ load, outflow, clients: guards.clients, cors, logger, isDraining })
  const runner = new RequestRunner(pipeline, writer, logger)
  for (const { id } of [...operations, NOT_FOUND, PREFLIGHT]) {
    for (const code of FAULTS) httpRequests.startAt0({ operation: id, status: String(ERRORS[code].status), code })
  }
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      handler: (request, reply) => runner.runRequest(operation, request, reply),
    })
  }
  app.setNotFoundHandler((request, reply) =>
    runner.runRequest(cors.isPreflight(request.raw) ? PREFLIGHT : NOT_FOUND, request, reply),
  )
  app.setErrorHandler((error, request, reply) => writer.sendError(error, { kind: 'read', request, reply }))
  const levels = [
    httpUnderWay.read(() => [[{}, runner.underWay]]),
    ...measureConnections(app.server, limits.maxConnections),
  ]
  app.addHook('onClose', async () => {
    for (const level of levels) level[Symbol.dispose]()
  })
  return app
}

function measureConnections(server: Server, maxConnections: number): Disposable[] {
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    socket.once('close', () => {
      connections -= 1
    })
  })
  return [httpConnections.read(() => [[{}, connections]]), httpMaxConnections.read(() => [[{}, maxConnections]])]
}

/** Passes requests through the pipeline, writes their answers, and measures both. */
class RequestRunner {
  readonly #pipeline: Pipeline
  readonly #writer: AnswerWriter
  readonly #logger: Logger
  /** Requests without an answer yet. */
  underWay = 0

  constructor(pipeline: Pipeline, writer: AnswerWriter, logger: Logger) {
    this.#pipeline = pipeline
    this.#writer = writer
    this.#logger = logger
  }

  runRequest(operation: Operation, request: FastifyRequest, reply: FastifyReply): void {
    const params = request.params as Record<string, string>
    const answering = { kind: kindOf(operation, request.headers), request, reply }
    const beganMs = performance.now()
    this.underWay += 1
    const attributes = { 'http.request.method': operation.method, 'http.route': operation.path }
    inRootSpan(operation.id, request.id, attributes, (traceparent) =>
      this.#pipeline({ raw: request.raw, traceparent, operation, params }),
    )
      .then(
        (answer) => {
          this.#writer.sendAnswer(answer, answering)
          countAnswer(operation, beganMs, reply.raw.statusCode, 'ok')
        },
        (error: unknown) => {
          const { status, code } = this.#writer.sendError(error, answering)
          countAnswer(operation, beganMs, status, code)
        },
      )
      .catch((error: unknown) => {
        this.#logger.error({ err: error, request_id: requestIdOf(request.id) }, 'an answer could not be written')
        request.raw.destroy()
      })
      .finally(() => {
        this.underWay -= 1
      })
  }
}

function countAnswer({ id }: Operation, beganMs: number, status: number, code: string): void {
  httpRequests.add({ operation: id, status: String(status), code })
  httpSeconds.observe({ operation: id }, (performance.now() - beganMs) / 1_000)
}

/** An operation without a path of its own. It checks no part of the request, so no other error can come first. */
function undescribed(id: string, prepare: Operation['prepare']): Operation {
  return {
    id,
    method: 'GET',
    path: '',
    tag: 'Service',
    summary: '',
    auth: 'optional',
    keyFrom: 'directory',
    allowRevoked: false,
    isRegistration: false,
    isBulk: false,
    isDocument: false,
    params: {},
    query: {},
    body: undefined,
    responses: {},
    errors: [],
    prepare,
  }
}
