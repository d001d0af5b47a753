/**
 * Handles everything on a connection besides ordinary requests: pipelines, broken HTTP, slow clients, CONNECT, `Expect`. Errors
 * get an answer in the error format of the API, after the answers to earlier requests on the same connection.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { httpClosed, httpRefused } from '../../metrics.ts'
import type { Bodies } from '../body.ts'
import type { Clients } from './client.ts'
import { connectionOf } from './connection.ts'
import { Crowd } from './crowd.ts'
import { Pipelines } from './pipelines.ts'
import { closeWith, faultOf, type ParserError, reasonOf } from './refusals.ts'
import { MAX_HEADERS, type ServerLimits } from './server-limits.ts'

/** Of one event. Node's own pipeline of a stream adds six, and Node warns beyond ten. */
const MAX_LISTENERS = 20
const SPARE_CONNECTIONS = 1_000

export interface ConnectionGuards {
  readonly clients: Clients
  readonly bodies: Bodies
  /** Maximum number of connections of one client address. Connections of trusted proxies do not count. */
  readonly maxConnectionsPerClient: number
  /** Counts a request of a client that gets no other answer than that of its connection. @returns as `RateLimiter.takeRequest`. */
  readonly count: (client: string) => number | Promise<number>
}

interface HttpServerOptions extends ConnectionGuards {
  readonly limits: ServerLimits
  /** Handles every well-formed request. */
  readonly handle: RequestListener
}

/** Creates an HTTP server that answers even malformed requests, and enforces the limits on connections. */
export function createHttpServer({ limits, handle, ...guards }: HttpServerOptions): Server {
  const { maxConnections, ...options } = limits
  const server = createServer({ ...options, requireHostHeader: false })
  // Node drops the newest connections, whosever they are. So this is only for connections that come faster than others close.
  server.maxConnections = maxConnections + SPARE_CONNECTIONS
  server.on('drop', () => httpClosed.add({ reason: 'crowded' }))
  server.setTimeout(limits.connectionTimeout)
  limitHeaders(server, guards.clients)
  new Crowd({ clients: guards.clients, maxPerClient: guards.maxConnectionsPerClient, max: maxConnections }).watch(
    server,
  )
  const pipelines = new Pipelines(guards.clients, (request) => {
    guards.bodies.release(request)
    void guards.count(guards.clients.ofRequest(request))
  })
  handleRequests(server, guards, pipelines, handle)
  handleFaults(server, guards, pipelines, limits)
  return server
}

/**
 * Node reads no more headers of a head than this, and the pipeline refuses the request. The head of a trusted proxy is read to its
 * end, because its last header may name the client whose rate counts.
 */
function limitHeaders(server: Server, clients: Clients): void {
  server.prependListener('connection', (socket) => {
    server.maxHeadersCount = clients.ofConnection(socket) === undefined ? 0 : MAX_HEADERS
  })
}

function handleRequests(
  server: Server,
  { clients, bodies, count }: ConnectionGuards,
  pipelines: Pipelines,
  handle: RequestListener,
): void {
  server.on('connection', (socket) => socket.once('close', () => pipelines.dropConnection(socket)))
  server.on('request', (request, response) => {
    const { socket } = request
    if (socket.destroyed) {
      void count(clients.ofRequest(request)) // Node parses the rest of what it has read even if the connection is closed
      return
    }
    const connection = connectionOf(socket)
    connection.heads += 1
    connection.open.add(response)
    response.setMaxListeners(MAX_LISTENERS)
    bodies.begin(request)
    response.once('close', () => {
      connection.open.delete(response)
      bodies.release(request)
      pipelines.beginNext(socket)
    })
    if (connection.open.size === 1) handle(request, response)
    else pipelines.queueRequest(socket, request, () => handle(request, response))
  })
  // Node would answer both kinds of `Expect` itself. Send no 100 Continue if the declared length is over the limit.
  server.on('checkContinue', (request, response) => {
    if (!(Number(request.headers['content-length']) > LIMITS.requestBytes)) response.writeContinue()
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

function handleFaults(
  server: Server,
  { clients, count }: ConnectionGuards,
  pipelines: Pipelines,
  { headersTimeout }: ServerLimits,
): void {
  server.on('clientError', (error: ParserError, socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuseIfLate(socket, error)
    else refuse(socket, error)
  })
  // No path supports CONNECT.
  server.on('connect', (request, socket) => {
    httpRefused.add({ reason: 'connect' })
    socket.on('error', () => {}) // it has no other listener, and a reset must not crash the process
    void refuseConnection(socket, new ServiceError('not_found'), () => count(clients.ofRequest(request)))
  })

  function refuse(socket: Duplex, error: ParserError): void {
    httpRefused.add({ reason: reasonOf(error) })
    void refuseConnection(socket, faultOf(error), () => {
      // A request whose head was read counts anyway. What a trusted proxy passed on names no client.
      const client =
        socket instanceof Socket && !connectionOf(socket).hasOpenBody ? clients.ofConnection(socket) : undefined
      return client === undefined || error.code === 'ECONNRESET' ? 0 : count(client)
    })
  }

  /**
   * Node checks its timers before it reads the sockets. So if this process stalled, a request may have arrived in time and lie
   * unread. Check again after one tick of the event loop, and refuse the request only if it is still incomplete. If its connection
   * is not read because of its pipeline, its client gets `headersTimeout` again after that.
   */
  function refuseIfLate(socket: Duplex, error: ParserError): void {
    const connection = connectionOf(socket)
    const { heads: headsBefore, hasOpenBody: wasBodyOpen } = connection
    const isHeld = (): boolean => socket instanceof Socket && pipelines.isWaiting(socket)
    let wasHeld = isHeld()
    setImmediate(check)

    function check(): void {
      const later = connection.heads - headsBefore - (wasBodyOpen ? 0 : 1)
      const hasArrived = later > 0 || (later === 0 && !connection.hasOpenBody)
      if (hasArrived || socket.destroyed) return
      if (wasHeld || isHeld()) {
        wasHeld = isHeld()
        setTimeout(() => setImmediate(check), headersTimeout).unref()
      }
      // A client that has sent nothing expects no answer, and would take ours as the answer to its next request.
      else if (socket instanceof Socket && socket.bytesRead === 0) socket.destroy()
      else refuse(socket, error)
    }
  }
}

/** @param count counts what is refused: beyond its rate a client is told to wait. @returns as `RateLimiter.takeRequest`. */
async function refuseConnection(
  socket: Duplex,
  fault: ServiceError,
  count: () => number | Promise<number>,
): Promise<void> {
  const connection = connectionOf(socket)
  if (connection.isBroken) return
  connection.isBroken = true
  socket.pause()
  const counted = count()
  if ([...connection.open].some(({ headersSent, req }) => headersSent && !req.complete)) {
    socket.destroy() // the request already has its answer, see answerUnread in refusals.ts
    return
  }
  // Requests that arrived whole before the malformed bytes still get their answers.
  const owed = [...connection.open].filter(({ req }) => req.complete)
  await Promise.all(owed.map((response) => new Promise((resolve) => response.once('close', resolve))))
  const retryAfterSeconds = await counted
  closeWith(socket, retryAfterSeconds > 0 ? new ServiceError('rate_limited', { retryAfterSeconds }) : fault)
}
