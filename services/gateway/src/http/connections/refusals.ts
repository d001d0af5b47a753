/** Answers malformed HTTP, and requests whose body is not read to its end. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contracts/errors.ts'
import { newTraceparent, requestIdOf } from '@svc/telemetry/trace.ts'
import type { TextAnswer } from '../answer.ts'
import { errorAnswer } from '../errors.ts'
import { SERVER_LIMITS } from './server-limits.ts'

/**
 * If a request was not read to its end, its connection is closed this long after the answer. Closing it at once would send a
 * reset because of the unread bytes, and the reset could overtake the answer.
 */
const LINGER_MS = 1_000

/** The error that Node reports for HTTP that it could not parse. */
export interface ParserError extends Error {
  code?: string
  rawPacket?: Buffer
  bytesParsed?: number
}

/** Writes an answer to a request whose body will not be read, and closes the connection. */
export function answerUnread(
  response: ServerResponse,
  { status, text }: TextAnswer,
  headers: Record<string, string>,
): void {
  response.writeHead(status, { ...headers, connection: 'close', 'content-length': Buffer.byteLength(text) })
  // Write the whole answer but do not end it: Node would close the connection at once.
  response.write(text)
  const timer = setTimeout(() => response.end(), LINGER_MS)
  response.once('close', () => clearTimeout(timer))
}

/** Answers with an error, in the error format of the API, and closes the connection. */
export function closeWith(socket: Duplex, fault: ServiceError): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const { status, text, headers = {} } = errorAnswer(fault)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `date: ${new Date().toUTCString()}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${requestIdOf(newTraceparent())}`,
    'cache-control: no-store',
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

/** The error to answer when Node's HTTP parser or one of its timeouts refuses a request. */
export function faultOf(error: ParserError): ServiceError {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return invalid('the request did not arrive in time')
    case 'HPE_HEADER_OVERFLOW':
      return invalid(`the headers are too many, or over ${SERVER_LIMITS.maxHeaderSize} bytes with the request line`)
    case 'HPE_INVALID_METHOD':
      // Well-formed HTTP with a method that Node does not know. No path supports it, so it is not_found (spec 3.11).
      return isRequestLine(error) ? new ServiceError('not_found') : invalid('not HTTP/1.1')
    default:
      return invalid('not HTTP/1.1')
  }
}

/** The reason as a metric label, with few values. */
export function reasonOf({ code }: ParserError): string {
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

/** Whether the line at which the parser stopped is a valid request line, apart from its method. */
function isRequestLine({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const text = rawPacket?.toString('latin1') ?? ''
  const line = text.slice(text.lastIndexOf('\n', bytesParsed) + 1)
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40} \S+ HTTP\/1\.[01]\r?\n/.test(line)
}

function invalid(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail })
}
