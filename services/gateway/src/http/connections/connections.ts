/**
 * Handles everything on a connection besides ordinary requests: broken HTTP, slow clients, CONNECT, `Expect`. Errors get an
 * answer in the error format of the API, after the answers to earlier requests on the same connection.
 */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { httpClosed, httpRefused } from '../../metrics.ts'
import type { Backpressure } from './backpressure.ts'
import { type ConnectionLimits, createConnectionRoom } from './connection-limits.ts'
import { stopParsing, watchPieces } from './parsing.ts'
import { closeWith, faultOf, invalid, type ParserError, reasonOf } from './refusals.ts'
import type { ServerLimits } from './server-limits.ts'

/** Headers of one request. Node silently drops headers past this number, so pipeline.ts refuses a request that reaches it. */
export const MAX_HEADERS = 128

/**
 * Maximum number of requests of one connection that have no answer yet. Node may read a thousand short requests at once. They
 * are processed one at a time, and the others take memory while they wait.
 */
export const MAX_PIPELINED = 16
/** Maximum number of requests, over all connections, that wait for the answer to the previous request on their connection. */
const MAX_PIPELINED_IN_ALL = 4_096

interface Connection {
  /** Responses that are not completely sent. */
  readonly open: Set<ServerResponse>
  /** Each starts one pipelined request. These run one after another, so that pipelining does not give a client a larger share. */
  readonly waiting: (() => void)[]
  /** Number of requests whose head was read. */
  heads: number
  broken: boolean
}

interface HttpServerOptions {
  readonly limits: ServerLimits
  readonly connectionLimits: ConnectionLimits
  readonly backpressure: Backpressure
  /** Handles every well-formed request. */
  readonly handle: RequestListener
}

/** Creates an HTTP server that answers even malformed requests, and enforces the limits on connections. */
export function createHttpServer({ limits, handle, ...guards }: HttpServerOptions): Server {
  const server = createServer({ ...limits, requireHostHeader: false })
  server.setTimeout(limits.connectionTimeout)
  server.maxHeadersCount = MAX_HEADERS
  watch(server, guards, handle)
  return server
}

type Guards = Pick<HttpServerOptions, 'connectionLimits' | 'backpressure'>

function watch(server: Server, { connectionLimits, backpressure }: Guards, handle: RequestListener): void {
  const connections = new WeakMap<Duplex, Connection>()
  const room = createConnectionRoom(connectionLimits, (socket) =>
    [...connectionOf(connections, socket).open].some(({ req }) => req.complete),
  )
  let waiting = 0

  server.on('connection', (socket) => {
    room.enter(socket)
    backpressure.enter(socket)
    socket.once('close', () => {
      waiting -= connectionOf(connections, socket).waiting.splice(0).length
    })
  })
  server.on('request', (request, response) => {
    const { socket } = request
    const connection = connectionOf(connections, socket)
    connection.heads += 1
    connection.open.add(response)
    room.touch(socket)
    backpressure.note(socket)
    response.once('close', () => {
      connection.open.delete(response)
      room.touch(socket)
      const next = socket.destroyed ? undefined : connection.waiting.shift()
      if (next === undefined) return
      waiting -= 1
      next()
    })
    const isPipelined = connection.open.size > 1
    if (isPipelined && (connection.open.size > MAX_PIPELINED || waiting >= MAX_PIPELINED_IN_ALL)) {
      httpClosed.add({ reason: 'pipelined' })
      stopParsing(socket)
      room.expel(socket)
      socket.resetAndDestroy()
      return
    }
    watchPieces(request, () => {
      httpRefused.add({ reason: 'scattered' })
      stopParsing(socket)
      room.expel(socket)
      void refuseConnection(connection, socket, invalid('the body comes in too many small pieces'))
    })
    if (!isPipelined) handle(request, response)
    else {
      waiting += 1
      connection.waiting.push(() => handle(request, response))
    }
  })
  server.on('clientError', (error: ParserError, socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuseIfLate(connectionOf(connections, socket), socket, error)
    else refuse(connectionOf(connections, socket), socket, error)
  })
  // No path supports CONNECT.
  server.on('connect', (_request, socket) => {
    httpRefused.add({ reason: 'connect' })
    void refuseConnection(connectionOf(connections, socket), socket, new ServiceError('not_found'))
  })
  // Node would answer both kinds of `Expect` itself. Send no 100 Continue if the declared length is over the limit.
  server.on('checkContinue', (request, response) => {
    if (!(Number(request.headers['content-length']) > LIMITS.requestBytes)) response.writeContinue()
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

function connectionOf(connections: WeakMap<Duplex, Connection>, socket: Duplex): Connection {
  let connection = connections.get(socket)
  if (connection === undefined) {
    connection = { open: new Set(), waiting: [], heads: 0, broken: false }
    connections.set(socket, connection)
  }
  return connection
}

function refuse(connection: Connection, socket: Duplex, error: ParserError): void {
  httpRefused.add({ reason: reasonOf(error) })
  void refuseConnection(connection, socket, faultOf(error))
}

/**
 * Node checks its timers before it reads the sockets. So if this process stalled, a request may have arrived in time and lie
 * unread. Check again after one turn of the event loop, and refuse the request only if it is still incomplete.
 */
function refuseIfLate(connection: Connection, socket: Duplex, error: ParserError): void {
  const headsBefore = connection.heads
  const wasBodyOpen = hasOpenBody(connection)
  setImmediate(() => {
    const hasArrived = (connection.heads > headsBefore || wasBodyOpen) && !hasOpenBody(connection)
    if (hasArrived) return
    // A client that has sent nothing expects no answer, and would take ours as the answer to its next request.
    if (socket instanceof Socket && socket.bytesRead === 0) socket.destroy()
    else refuse(connection, socket, error)
  })
}

function hasOpenBody({ open }: Connection): boolean {
  return [...open].some(({ req }) => !req.complete)
}

async function refuseConnection(connection: Connection, socket: Duplex, fault: ServiceError): Promise<void> {
  if (connection.broken) return
  connection.broken = true
  socket.pause()
  socket.on('error', () => {}) // the socket of a CONNECT has no other listener, and a reset must not crash the process
  if ([...connection.open].some(({ headersSent, req }) => headersSent && !req.complete)) {
    socket.destroy() // the request already has its answer, see answerUnread in refusals.ts
    return
  }
  // Requests that arrived whole before the malformed bytes still get their answers.
  const owed = [...connection.open].filter(({ req }) => req.complete)
  await Promise.all(owed.map((response) => new Promise((resolve) => response.once('close', resolve))))
  closeWith(socket, fault)
}
