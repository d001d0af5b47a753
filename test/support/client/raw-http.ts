/** Raw HTTP, for requests that `fetch` would correct or refuse to send. */
import { request as httpRequest } from 'node:http'
import { answerOf } from '@svc/conformance/http/exchange.ts'
import { openRaw as open, parseAnswers, type RawConnection } from '@svc/conformance/http/raw.ts'
import { expectDescribed, expectDescribedSomewhere } from '../description/described-answers.ts'
import type { HttpAnswer } from './agent.ts'

export { parseAnswers }

interface Exchange {
  method?: string
  /** The target of the request line. */
  target: string
  /** A list is sent as several header lines. */
  headers?: Readonly<Record<string, string | readonly string[]>>
  /** Sent with `content-length`, for any method. With the header `transfer-encoding: chunked` it is sent as one chunk. */
  body?: string | Uint8Array | undefined
  /** One of 127.0.0.0/8, to be another client. */
  from?: string
}

/** Sends one request on a new connection. */
export function exchange(
  url: string,
  { method = 'GET', target, headers = {}, body, from }: Exchange,
): Promise<HttpAnswer> {
  const { hostname, port } = new URL(url)
  const framing =
    body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries({ ...framing, ...headers }).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : [...value],
  ])
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, method, path: target, headers: Object.fromEntries(lines), agent: false, localAddress: from },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        const finish = (): void => {
          const { rawHeaders, statusCode = 0 } = response
          const answer = answerOf(statusCode, rawHeaders, Buffer.concat(chunks).toString())
          const sent = { method, target, headers: headersOf(headers), body: textOf(body) }
          try {
            expectDescribed(url, sent, answer)
            resolve(answer)
          } catch (error) {
            reject(error)
          }
        }
        if (response.headers['content-type']?.startsWith('text/event-stream') !== true) response.on('end', finish)
        else {
          // an event stream does not end, so its head is the answer
          finish()
          request.destroy()
        }
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** Opens a connection on which a test can send any bytes. Its `ended` also checks that the answers are described. */
export function openRaw(url: string): RawConnection {
  const connection = open(url)
  const ended = connection.ended.then((received) => {
    for (const answer of parseAnswers(received).filter(({ status }) => status >= 200))
      expectDescribedSomewhere(url, answer)
    return received
  })
  ended.catch(() => {}) // a test that does not wait for the end ignores this error
  return Object.defineProperty(connection, 'ended', { value: ended })
}

function headersOf(lines: NonNullable<Exchange['headers']>): Headers {
  return new Headers(
    Object.entries(lines).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as [string, string])),
  )
}

function textOf(body: string | Uint8Array | undefined): string | undefined {
  return body === undefined || typeof body === 'string' ? body : Buffer.from(body).toString()
}
