import { connect, type Socket } from 'node:net'

/**
 * A load generator that only sends. Requests are prepared as bytes, and only the status and the end of an answer are
 * parsed. The generator therefore costs little compared with the measured system.
 */
interface LoadOptions {
  /** Port of the first gateway. */
  port: number
  /** Number of gateways, on this port and the next ones. Connections take them in turn. */
  gateways?: number
  connections: number
  /** Ready-made requests. Any free connection takes the next. */
  requests: Buffer[]
  /** Starts over after the last request. By default each request is sent once. */
  cycle?: boolean
  /** Status that counts as success. */
  expected: number
  /** Stop sending after this time. */
  limitMs: number
  /**
   * The pause between an answer and the next request of its connection, so that the work of the previous request is done. 0
   * means no pause.
   */
  restMs?: number
}

export interface LoadResult {
  accepted: number
  /** Other answers, counted by status. */
  refused: Record<string, number>
  elapsedMs: number
  /** Milliseconds of each accepted request, ascending. */
  latenciesMs: number[]
}

export async function runLoad({
  port,
  gateways = 1,
  connections,
  requests,
  cycle = false,
  expected,
  limitMs,
  restMs = 0,
}: LoadOptions): Promise<LoadResult> {
  const latenciesMs: number[] = []
  const refused: Record<string, number> = {}
  let next = 0
  const begin = performance.now()
  const end = begin + limitMs
  await Promise.all(Array.from({ length: connections }, (_, index) => runConnection(port + (index % gateways))))
  const elapsedMs = performance.now() - begin
  latenciesMs.sort((a, b) => a - b)
  return { accepted: latenciesMs.length, refused, elapsedMs, latenciesMs }

  function runConnection(gatewayPort: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket: Socket = connect({ port: gatewayPort, host: '127.0.0.1', noDelay: true })
      let sentAt = 0
      let buffered = ''
      const send = (): void => {
        const request = requests[cycle ? next % requests.length : next]
        const now = performance.now()
        if (request === undefined || now >= end) {
          socket.end()
          resolve()
          return
        }
        next += 1
        sentAt = now
        socket.write(request)
      }
      socket.once('connect', send)
      socket.once('error', reject)
      socket.setEncoding('latin1')
      socket.on('data', (chunk: string) => {
        buffered = buffered === '' ? chunk : buffered + chunk
        const head = buffered.indexOf('\r\n\r\n')
        if (head < 0 || buffered.length < head + 4 + contentLength(buffered, head)) return
        const status = Number(buffered.slice(9, 12))
        if (status === expected) latenciesMs.push(performance.now() - sentAt)
        else count(refused, `${status} ${buffered.slice(head + 4, head + 60)}`)
        buffered = ''
        if (restMs > 0) setTimeout(send, restMs)
        else send()
      })
    })
  }
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1
}

const CONTENT_LENGTH = 'content-length: '

/** @param head where the headers end. */
export function contentLength(text: string, head: number): number {
  const at = text.indexOf(CONTENT_LENGTH)
  return at < 0 || at > head ? 0 : Number.parseInt(text.slice(at + CONTENT_LENGTH.length, at + 28), 10)
}

interface PlainRequest {
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A ready-made request with a JSON body. */
export function requestBytes({ method, target, authority, headers = {}, body = '' }: PlainRequest): Buffer {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${authority}`,
    ...Object.entries(headers).map(([k, v]) => `${k}: ${v}`),
  ]
  if (body !== '') lines.push('Content-Type: application/json')
  lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

export function percentile(ascending: number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}

export function median(values: number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}
