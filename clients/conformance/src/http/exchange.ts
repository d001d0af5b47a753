/** One HTTP request, sent exactly as it is written: no header is added but `Host` and `Content-Length`, and no redirect is followed. */
import { Agent as HttpConnections, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsConnections, request as httpsRequest } from 'node:https'
import type { Exchange } from '../result.ts'

export interface Sent {
  readonly method: string
  /** Path and query of the request line. */
  readonly target: string
  /** A list is sent as several lines; an empty one as none, also for `host`. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array | undefined
  readonly signer?: string | undefined
  readonly signedString?: string | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** From the request until the answer began. */
  readonly seconds?: number
  /** The parsed body, if it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: cases say what an answer must be
  readonly body: any
}

export type Observe = (exchange: Exchange, answer: Answer) => void

export interface ExchangeOptions {
  readonly observe?: Observe | undefined
  /** Takes over an event stream. Without it the connection is closed after the head of a stream. */
  readonly onStream?: ((response: IncomingMessage) => void) | undefined
}

/** A server that answers nothing for this long has failed, whatever it does later (spec 3.17 allows 5 s). */
const PATIENCE_MS = 30_000
const pools = {
  'http:': new HttpConnections({ keepAlive: true }),
  'https:': new HttpsConnections({ keepAlive: true }),
}

/** @param base base URL of the server. @throws Error if the connection fails, or if no answer begins in time. */
export function exchange(base: string, sent: Sent, options: ExchangeOptions = {}): Promise<Answer> {
  const { observe = () => {}, onStream } = options
  const url = new URL(base)
  const isTls = url.protocol === 'https:'
  const { body } = sent
  const framing =
    body === undefined || 'transfer-encoding' in sent.headers ? {} : { 'content-length': `${Buffer.byteLength(body)}` }
  const { host, ...others } = sent.headers
  const asked: RequestOptions = {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port || (isTls ? 443 : 80),
    method: sent.method,
    path: url.pathname.replace(/\/$/, '') + sent.target,
    headers: { ...framing, ...others, ...(host?.length ? { host } : {}) } as Record<string, string | string[]>,
    setHost: host === undefined,
    agent: pools[isTls ? 'https:' : 'http:'],
    timeout: PATIENCE_MS,
  }
  const startMs = performance.now()
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(new Error(`${sent.method} ${sent.target}: ${error.message}`, { cause: error }))
    const request = (isTls ? httpsRequest : httpRequest)(asked, (response) => {
      const chunks: Buffer[] = []
      const seconds = (performance.now() - startMs) / 1_000
      const finish = (): void => {
        const text = Buffer.concat(chunks).toString()
        const answer = { ...answerOf(response.statusCode ?? 0, response.rawHeaders, text), seconds }
        try {
          observe(exchangeOf(base, sent, answer), answer)
          resolve(answer)
        } catch (error) {
          reject(error)
        }
      }
      response.on('error', fail)
      // An event stream does not end, so its head is the answer.
      if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
        finish()
        request.setTimeout(0)
        if (onStream === undefined) request.destroy()
        else onStream(response)
        return
      }
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', finish)
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${PATIENCE_MS / 1_000} s`)))
    request.on('error', (error: NodeJS.ErrnoException) => {
      // The server closed an idle connection while the request was on its way, and has not read it.
      if (request.reusedSocket && error.code === 'ECONNRESET') exchange(base, sent, options).then(resolve, reject)
      else fail(error)
    })
    request.end(body)
  })
}

export function answerOf(status: number, rawHeaders: readonly string[], text: string): Answer {
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  return { status, headers, text, body: parseOrUndefined(text) }
}

function exchangeOf(base: string, { body, ...sent }: Sent, answer: Answer): Exchange {
  const text = body === undefined || typeof body === 'string' ? body : Buffer.from(body).toString()
  const { method, target, headers, signer, signedString } = sent
  return {
    request: { method, url: base.replace(/\/$/, '') + target, headers, body: text, signer, signedString },
    answer: { status: answer.status, headers: Object.fromEntries(answer.headers), body: answer.text },
  }
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
