/** Writes answers: headers, form (text, bytes, document, stream), and the handling of slow readers. */
import { pipeline as joinStreams, type Readable } from 'node:stream'
import type { ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import { requestIdOf } from '@svc/telemetry/trace.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, DocumentAnswer } from './answer.ts'
import { isBodyLeft } from './body.ts'
import type { Clients } from './connections/client.ts'
import { answerUnread } from './connections/refusals.ts'
import type { Cors } from './cors.ts'
import { acceptsCoding, isKnown } from './document.ts'
import { asServiceError, errorAnswer } from './errors.ts'
import { kindOf, type Load, Overloaded, type Slot } from './load/load.ts'
import type { Outflow } from './load/outflow.ts'
import { isLong, sendSlices } from './slices.ts'

interface AnswerWriterOptions {
  readonly load: Load
  readonly outflow: Outflow
  readonly clients: Clients
  readonly cors: Cors
  readonly logger: Logger
  /** True from the moment the process is asked to stop: every answer then closes its connection. */
  readonly isDraining: () => boolean
}

/** The parts of the requested operation on which its answer depends. */
interface Asked {
  readonly id: string
  readonly method: string
  readonly isDocument: boolean
}

interface AnswerWriter {
  send(answer: Answer, operation: Asked, request: FastifyRequest, reply: FastifyReply): void
  /** @returns the status and the error code of the answer. */
  sendError(
    thrown: unknown,
    operation: Asked,
    request: FastifyRequest,
    reply: FastifyReply,
  ): { status: number; code: ErrorCode }
}

export function createAnswerWriter({
  load,
  outflow,
  clients,
  cors,
  logger,
  isDraining,
}: AnswerWriterOptions): AnswerWriter {
  return { send, sendError }

  function send(answer: Answer, operation: Asked, request: FastifyRequest, reply: FastifyReply): void {
    const headers = headersOf(answer, request)
    if (answer.document !== undefined) {
      sendDocument(answer.document, headers, request, reply)
      if (reply.raw.writableLength > 0) trackAnswer(0, operation, reply)
      return
    }
    const { status, text, stream } = answer
    if (stream !== undefined) {
      reply.hijack()
      sendStream(status, stream, headers, reply)
      return
    }
    if (isLong(text)) sendBytes(status, Buffer.from(text), headers, reply)
    else reply.code(status).headers(headers).send(text)
    if (reply.raw.writableLength > 0) trackAnswer(Buffer.byteLength(text), operation, reply)
  }

  function sendError(
    thrown: unknown,
    operation: Asked,
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

  /** Keeps the request in the load, and limits the memory of its answer, until the client has read the answer. */
  function trackAnswer(bytes: number, operation: Asked, { raw }: FastifyReply): void {
    const client = clients.ofRequest(raw.req)
    const slot: Slot = { kind: kindOf(operation, raw.req.headers), client }
    load.resume(slot)
    outflow.trackAnswer(raw, { client, bytes, onLeft: () => load.end(slot) })
  }

  /**
   * Each end closes the other: if the client disconnects or reads too slowly, its resources are freed, and if the stream process
   * is lost, the client's connection is closed.
   */
  function sendStream(status: number, stream: Readable, headers: Record<string, string>, { raw }: FastifyReply): void {
    if (raw.destroyed) {
      stream.destroy()
      return
    }
    raw.writeHead(status, headers)
    raw.flushHeaders()
    joinStreams(stream, raw, () => {})
    outflow.trackStream(raw, clients.ofRequest(raw.req), stream)
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

function sendDocument(
  { plain, gzip, brotli }: DocumentAnswer['document'],
  given: Record<string, string>,
  { headers: asked }: FastifyRequest,
  reply: FastifyReply,
): void {
  const vary = given.vary === undefined ? 'accept-encoding' : `${given.vary}, accept-encoding`
  const headers: Record<string, string> = { ...given, vary }
  // A 304 has no content, so it names no type (RFC 9110, 15.4.5): some clients would parse its content.
  const { 'content-type': _, ...withoutType } = headers
  if (isKnown(headers.etag, asked['if-none-match'])) reply.code(304).headers(withoutType).send()
  else if (brotli !== undefined && acceptsCoding(asked['accept-encoding'], 'br'))
    sendBytes(200, brotli, { ...headers, 'content-encoding': 'br' }, reply)
  else if (acceptsCoding(asked['accept-encoding'], 'gzip'))
    sendBytes(200, gzip, { ...headers, 'content-encoding': 'gzip' }, reply)
  else sendBytes(200, plain, headers, reply)
}

function sendBytes(status: number, body: Buffer, headers: Record<string, string>, reply: FastifyReply): void {
  reply.hijack()
  reply.raw.writeHead(status, { ...headers, 'content-length': body.length })
  sendSlices(reply.raw, body)
}
