/** Raw HTTP, for requests that `fetch` would correct or refuse to send. */
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expectDescribed, expectDescribedSomewhere } from '../description/described-answers.ts'
import type { HttpAnswer } from './agent.ts'

export interface Exchange {
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

interface RawConnection extends Disposable {
  readonly socket: Socket
  write(bytes: string | Uint8Array): void
  /** Everything received so far. */
  readonly received: string
  /** Resolves with everything received when the other end closes. */
  readonly ended: Promise<string>
}

/** Opens a connection on which a test can send any bytes. */
export function openRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => {}) // the other end may reset the connection after its answer
  const ended = new Promise<string>((resolve, reject) =>
    socket.once('close', () => {
      try {
        const final = parseAnswers(received).filter(({ status }) => status >= 200)
        for (const answer of final) expectDescribedSomewhere(url, answer)
        resolve(received)
      } catch (error) {
        reject(error)
      }
    }),
  )
  ended.catch(() => {}) // a test that does not wait for the end ignores this error
  return {
    socket,
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    get received() {
      return received
    },
    ended,
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/** Parses the complete answers that a connection received, in order. Bodies must have a content-length. */
export function parseAnswers(received: string): HttpAnswer[] {
  const answers: HttpAnswer[] = []
  for (let rest = received; ; ) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return answers
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(statusLine)?.[1])
    const pairs = lines.flatMap((line) => /^([^:]+):\s*(.*)$/.exec(line)?.slice(1) ?? [])
    const { headers } = answerOf(status, pairs, '')
    const bodyEnd = end + 4 + Number(headers.get('content-length') ?? 0)
    if (rest.length < bodyEnd) return answers
    answers.push(answerOf(status, pairs, rest.slice(end + 4, bodyEnd)))
    rest = rest.slice(bodyEnd)
  }
}

function answerOf(status: number, rawHeaders: readonly string[], text: string): HttpAnswer {
  const headers = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  return { status, headers, text, body: parseOrUndefined(text) }
}

function headersOf(lines: NonNullable<Exchange['headers']>): Headers {
  return new Headers(
    Object.entries(lines).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as [string, string])),
  )
}

function textOf(body: string | Uint8Array | undefined): string | undefined {
  return body === undefined || typeof body === 'string' ? body : Buffer.from(body).toString()
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
