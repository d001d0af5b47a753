import { ServiceError } from '@svc/contracts/errors.ts'
import { errorCodeOf, tlsFailureOf } from '@svc/tls/failure.ts'

/** What an attempt was doing when it failed. */
type Phase = 'resolve' | 'connect' | 'handshake' | 'answer'

/** As metrics count it. */
type FailureResult = 'address' | 'connection' | 'timeout' | `status_${number}xx`

/**
 * Why an attempt failed. The message is for the operator: one line that begins with the kind of failure. It has nothing that the
 * endpoint sent except a status, and nothing of the URL but its host.
 */
export class AttemptError extends Error {
  override name = 'AttemptError'
  readonly result: FailureResult

  constructor(result: FailureResult, message: string, cause?: unknown) {
    super(message, { cause })
    this.result = result
  }
}

/** An answer whose status is not 2xx (spec 10.7). */
export function refusedWith(status: number): AttemptError {
  const words = status >= 300 && status < 400 ? `redirect: status ${status}, which is not followed` : `status ${status}`
  return new AttemptError(`status_${Math.floor(status / 100)}xx`, words)
}

export function lateIn(phase: Phase): AttemptError {
  return new AttemptError(phase === 'resolve' ? 'address' : 'timeout', `timeout: ${LATE[phase]}`)
}

/** Explains an error of Node or of the HTTP client. */
export function attemptErrorOf(error: unknown, phase: Phase): AttemptError {
  if (error instanceof AttemptError) return error
  // An exempt target that no longer is one.
  if (error instanceof ServiceError) return new AttemptError('address', `url: ${error.message}`)
  const name = error instanceof Error ? error.name : 'unknown'
  if (name === 'TimeoutError') return lateIn(phase)
  // Codes come from Node, OpenSSL and the HTTP client, never from the endpoint.
  const code = errorCodeOf(error) || name
  const words = phase === 'resolve' ? RESOLVING[code] : (tlsWords(error, phase) ?? CONNECTING[code])
  const result = phase === 'resolve' ? 'address' : code === 'ETIMEDOUT' ? 'timeout' : 'connection'
  return new AttemptError(result, `${words ?? OTHERWISE[phase]} (${code})`, error)
}

const LATE: Readonly<Record<Phase, string>> = {
  resolve: 'the name servers took too long',
  connect: 'no address of the host accepted a connection',
  handshake: 'the host accepted a connection, but did not finish the TLS handshake',
  answer: 'the endpoint did not answer the request',
}

const RESOLVING: Readonly<Record<string, string>> = {
  ENOTFOUND: 'dns: the name does not exist',
  ENODATA: 'dns: the name has no address',
  ETIMEOUT: 'dns: the name servers do not answer',
  ECONNREFUSED: 'dns: the name servers cannot be reached',
}

const CONNECTING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused: nothing listens on the port',
  ECONNRESET: 'closed: the connection was reset',
  EPIPE: 'closed: the connection was reset',
  ETIMEDOUT: 'timeout: no answer from the address',
  EHOSTUNREACH: 'unreachable: there is no route to the address',
  ENETUNREACH: 'unreachable: there is no route to the address',
  EADDRNOTAVAIL: 'unreachable: there is no route to the address',
  UND_ERR_SOCKET: 'closed: the connection ended without an answer',
  UND_ERR_HEADERS_OVERFLOW: 'answer too large: its headers exceed 16 KiB',
}

const OTHERWISE: Readonly<Record<Phase, string>> = {
  resolve: 'dns: the lookup failed',
  connect: 'connection failed',
  handshake: 'tls: the handshake failed',
  answer: 'answer not understood',
}

function tlsWords(error: unknown, phase: Phase): string | undefined {
  const kind = tlsFailureOf(error)
  if (kind !== undefined) return TLS[kind]
  return phase === 'handshake' && errorCodeOf(error) === 'ECONNRESET'
    ? 'tls: the connection was closed during the handshake'
    : undefined
}

const TLS: Readonly<Record<NonNullable<ReturnType<typeof tlsFailureOf>>, string>> = {
  'wrong host': 'tls: the certificate is for another host',
  expired: 'tls: the certificate has expired',
  'not yet valid': 'tls: the certificate is not valid yet',
  'unknown authority':
    'tls: the certificate is self-signed, from an unknown authority, or sent without its intermediates',
  other: 'tls: the handshake failed',
}
