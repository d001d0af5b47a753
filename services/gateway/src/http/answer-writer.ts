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
import { type Load, Overloaded, type RequestKind, type Slot } from './load/load.ts'
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

/** A request whose answer is written. */
interface Answering {
  readonly kind: RequestKind
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export class AnswerWriter {
  readonly #options: AnswerWriterOptions

  constructor(options: AnswerWriterOptions) {
    this.#options = options
  }

  sendAnswer(answer: Answer, answering: Answering): void {
    const { request, reply } = answering
    const headers = this.#headersOf(answer, request)
    if (answer.document !== undefined) {
      sendDocument(answer.document, headers, request, reply)
      if (reply.raw.writableLength > 0) this.#trackAnswer(0, answering)
      return
    }
    const { status, text, stream } = answer
    if (stream !== undefined) {
      reply.hijack()
      this.#sendStream(status, stream, headers, reply)
      return
    }
    if (isLong(text)) sendBytes(status, Buffer.from(text), headers, reply)
    else reply.code(status).headers(headers).send(text)
    if (reply.raw.writableLength > 0) this.#trackAnswer(Buffer.byteLength(text), answering)
  }

  /** @returns the status and the error code of the answer. */
  sendError(thrown: unknown, answering: Answering): { status: number; code: ErrorCode } {
    const { request, reply } = answering
    const error = asServiceError(thrown)
    this.#logError(error, request)
    const answer = errorAnswer(error)
    if (isBodyLeft(request.raw)) {
      reply.hijack()
      answerUnread(reply.raw, answer, this.#headersOf(answer, request))
    } else this.sendAnswer(answer, answering)
    return { status: answer.status, code: error.code }
  }

  /** Keeps the request in the load, and limits the memory of its answer, until the client has read the answer. */
  #trackAnswer(bytes: number, { kind, reply: { raw } }: Answering): void {
    const { load, outflow, clients } = this.#options
    const client = clients.ofRequest(raw.req)
    const slot: Slot = { kind, client }
    load.resumeRequest(slot)
    outflow.trackAnswer(raw, { client, bytes, onLeft: () => load.endRequest(slot) })
  }

  /**
   * Each end closes the other: if the client disconnects or reads too slowly, its resources are freed, and if the stream process
   * is lost, the client's connection is closed.
   */
  #sendStream(status: number, stream: Readable, headers: Record<string, string>, { raw }: FastifyReply): void {
    if (raw.destroyed) {
      stream.destroy()
      return
    }
    raw.writeHead(status, headers)
    raw.flushHeaders()
    joinStreams(stream, raw, () => {})
    this.#options.outflow.trackStream(raw, this.#options.clients.ofRequest(raw.req), stream)
  }

  #headersOf({ headers }: Answer, request: FastifyRequest): Record<string, string> {
    const { cors, isDraining } = this.#options
    return {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': requestIdOf(request.id),
      'cache-control': 'no-store',
      ...cors.headersFor(request.headers),
      ...headers,
      ...(isDraining() ? { connection: 'close' } : undefined),
    }
  }

  #logError(error: ServiceError, request: FastifyRequest): void {
    if ((error.code !== 'internal' && error.code !== 'unavailable') || error instanceof Overloaded) return
    const fields = {
      err: error,
      request_id: requestIdOf(request.id),
      method: request.method,
      route: request.routeOptions.url,
    }
    if (error.code === 'internal') this.#options.logger.error(fields, 'request failed')
    else this.#options.logger.warn(fields, 'request unavailable')
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
