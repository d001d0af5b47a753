/**
 * What happens on a connection besides requests that can be understood: broken HTTP, slow clients, CONNECT, `Expect`. Each is
 * answered in the API's own shape, after the answers to what came before it on the same connection.
 */
import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contracts/errors.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { newTraceparent, requestIdOf } from '@svc/telemetry/trace.ts'
import type { Answer } from './answer.ts'
import { type ConnectionLimits, createConnectionRoom } from './connection-limits.ts'
import { errorAnswer } from './errors.ts'
import { httpClosed, httpRefused } from './http-metrics.ts'
import { stopParsing, watchPieces } from './parsing.ts'

/** What a client may take its time with, in milliseconds, and how long its headers may be; see `http.createServer`. */
export const SERVER_LIMITS: ServerLimits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  /** A whole request, body included. */
  requestTimeout: 20_000,
  connectionsCheckingInterval: 1_000,
  /** Longer than the minute after which most load balancers drop an idle connection, so that they do it first. */
  keepAliveTimeout: 72_000,
  /** Without a byte either way: a client that does not read its answer. */
  connectionTimeout: 90_000,
}

export interface ServerLimits {
  readonly maxHeaderSize: number
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly connectionsCheckingInterval: number
  readonly keepAliveTimeout: number
  readonly connectionTimeout: number
}

/** Of the head of a request: Node drops those past it without a word, so a head that has so many is refused (pipeline.ts). */
export const MAX_HEADERS = 128

/**
 * Requests of one connection that have no answer yet. Node reads a thousand at once if they are short. One of them is worked
 * on at a time, and the others take memory.
 */
export const MAX_PIPELINED = 16
/** Of all connections: requests that wait until the one before them is answered. */
export const MAX_PIPELINED_IN_ALL = 4_096

/**
 * A connection whose request was not read to its end is closed this long after the answer: closed at once, the reset that
 * the unread bytes cause could overtake the answer.
 */
const LINGER_MS = 1_000

/** What Node says of HTTP that it could not parse. */
interface ParserError extends Error {
  code?: string
  rawPacket?: Buffer
  bytesParsed?: number
}

interface Connection {
  /** Responses that are not on the wire yet. */
  readonly open: Set<ServerResponse>
  /** Begins a request each. They take turns, so that a connection that pipelines takes no more of this process than others. */
  readonly waiting: (() => void)[]
  /** Requests whose head was read. */
  heads: number
  broken: boolean
}

export interface HttpServerOptions {
  readonly limits: ServerLimits
  readonly connectionLimits: ConnectionLimits
  /** Given every request that is to be answered. */
  readonly handle: RequestListener
}

/** A server that answers for every connection, and keeps them within their limits. */
export function createHttpServer({ limits, connectionLimits, handle }: HttpServerOptions): Server {
  const server = createServer({ ...limits, requireHostHeader: false })
  server.setTimeout(limits.connectionTimeout)
  server.maxHeadersCount = MAX_HEADERS
  watch(server, connectionLimits, handle)
  return server
}

function watch(server: Server, limits: ConnectionLimits, handle: RequestListener): void {
  const connections = new WeakMap<Duplex, Connection>()
  const room = createConnectionRoom(limits, (socket) =>
    [...connectionOf(connections, socket).open].some(({ req }) => req.complete),
  )
  let waiting = 0

  server.on('connection', (socket) => {
    room.enter(socket)
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
  // A CONNECT is a method that no path has.
  server.on('connect', (_request, socket) => {
    httpRefused.add({ reason: 'connect' })
    void refuseConnection(connectionOf(connections, socket), socket, new ServiceError('not_found'))
  })
  // Node would answer both of these itself. A body that is refused for its length is not asked for.
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
 * It may have been this process that stood still, while the request lay unread: whoever sent it in time is not told otherwise. Node
 * looks at the time before it looks at the sockets.
 */
function refuseIfLate(connection: Connection, socket: Duplex, error: ParserError): void {
  const headsBefore = connection.heads
  const wasBodyOpen = hasOpenBody(connection)
  setImmediate(() => {
    const hasArrived = (connection.heads > headsBefore || wasBodyOpen) && !hasOpenBody(connection)
    if (hasArrived) return
    // Who has sent nothing waits for no answer, and would take one for that to its next request.
    if (socket instanceof Socket && socket.bytesRead === 0) socket.destroy()
    else refuse(connection, socket, error)
  })
}

function hasOpenBody({ open }: Connection): boolean {
  return [...open].some(({ req }) => !req.complete)
}

/** Writes an answer to a request whose body will not be read, and closes the connection. */
export function answerUnread(
  response: ServerResponse,
  { status, text }: Answer,
  headers: Record<string, string>,
): void {
  response.writeHead(status, { ...headers, connection: 'close', 'content-length': Buffer.byteLength(text) })
  // All of the answer, but not its end: at the end Node would close the connection at once.
  response.write(text)
  const timer = setTimeout(() => response.end(), LINGER_MS)
  response.once('close', () => clearTimeout(timer))
}

async function refuseConnection(connection: Connection, socket: Duplex, fault: ServiceError): Promise<void> {
  if (connection.broken) return
  connection.broken = true
  socket.pause()
  socket.on('error', () => {}) // nobody else listens on the socket of a CONNECT, and a reset must not end the process
  if ([...connection.open].some(({ headersSent, req }) => headersSent && !req.complete)) {
    socket.destroy() // it has its answer, see answerUnread
    return
  }
  // A request that came whole before the bytes that broke is still owed its answer.
  const owed = [...connection.open].filter(({ req }) => req.complete)
  await Promise.all(owed.map((response) => new Promise((resolve) => response.once('close', resolve))))
  closeWith(socket, fault)
}

function closeWith(socket: Duplex, fault: ServiceError): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const { status, text } = errorAnswer(fault)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `date: ${new Date().toUTCString()}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${requestIdOf(newTraceparent())}`,
    'cache-control: no-store',
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** What is wrong with HTTP that Node's parser or its timers refused. */
function faultOf(error: ParserError): ServiceError {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return invalid('the request did not arrive in time')
    case 'HPE_HEADER_OVERFLOW':
      return invalid(`the headers are too many, or over ${SERVER_LIMITS.maxHeaderSize} bytes with the request line`)
    case 'HPE_INVALID_METHOD':
      // Well-formed HTTP with a method that Node has not heard of: a method that no path has (spec 3.11).
      return isRequestLine(error) ? new ServiceError('not_found') : invalid('not HTTP/1.1')
    default:
      return invalid('not HTTP/1.1')
  }
}

/** Few, for metrics. */
function reasonOf({ code }: ParserError): string {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'timeout'
    case 'HPE_HEADER_OVERFLOW':
      return 'headers'
    case 'ECONNRESET':
      return 'reset'
    default:
      return 'not_http'
  }
}

/** Whether the line on which the parser stopped is a request line but for its method. */
function isRequestLine({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const text = rawPacket?.toString('latin1') ?? ''
  const line = text.slice(text.lastIndexOf('\n', bytesParsed) + 1)
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40} \S+ HTTP\/1\.[01]\r?\n/.test(line)
}

function invalid(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail })
}
