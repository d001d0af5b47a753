/** Any bytes on a connection, for requests that an HTTP client would correct or refuse to send. */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Answer, answerOf } from './exchange.ts'

export interface RawConnection extends Disposable {
  readonly socket: Socket
  /** Text is sent as Latin-1, so `\xff` is one byte. */
  write(bytes: string | Uint8Array): void
  /** Everything received so far, as Latin-1. */
  readonly received: string
  /** Resolves with everything received when the other end closes. */
  readonly ended: Promise<string>
  /** Resolves with so many final answers, or with fewer if the connection ends or the time is over. */
  answers(count: number): Promise<Answer[]>
}

/** Longer than a server may take for an answer (spec 3.17). */
const PATIENCE_MS = 10_000

export function openRaw(base: string): RawConnection {
  const { hostname, port, protocol } = new URL(base)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const at = Number(port || (isTls ? 443 : 80))
  const socket = isTls
    ? connectTls({ host, port: at, servername: host, ALPNProtocols: ['http/1.1'] })
    : connectTcp(at, host)
  let received = ''
  let isOver = false
  const ended = new Promise<string>((resolve) => {
    socket.once('close', () => {
      isOver = true
      resolve(received)
    })
  })
  const finals = (): Answer[] => parseAnswers(received, isOver).filter(({ status }) => status >= 200)
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => {}) // the other end may reset the connection after its answer
  return {
    socket,
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    get received() {
      return received
    },
    ended,
    answers: (count) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer)
          resolve(finals())
        }
        const timer = setTimeout(done, PATIENCE_MS)
        const look = (): void => {
          if (finals().length >= count) done()
        }
        socket.on('data', look)
        void ended.then(done)
        look()
      }),
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/** The head of a request, with the host of the server and these headers. */
export function headOf(base: string, line: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ host: new URL(base).host, ...headers }).map(([name, value]) => `${name}: ${value}`)
  return `${[`${line} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`
}

/** The complete answers that a connection received, in order. @param isOver whether the end of the connection ends a body. */
export function parseAnswers(received: string, isOver = false): Answer[] {
  const answers: Answer[] = []
  for (let rest = received; ; ) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return answers
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1])
    const pairs = lines.flatMap((line) => /^([^:]+):\s*(.*)$/.exec(line)?.slice(1) ?? [])
    const { headers } = answerOf(status, pairs, '')
    const hasBody = status >= 200 && status !== 204 && status !== 304
    const body = hasBody ? bodyOf(headers, rest.slice(end + 4), isOver) : { text: '', length: 0 }
    if (body === undefined) return answers
    answers.push(answerOf(status, pairs, Buffer.from(body.text, 'latin1').toString()))
    rest = rest.slice(end + 4 + body.length)
  }
}

/** @returns the body and the length that it has on the connection; undefined while it is not complete. */
function bodyOf(headers: Headers, rest: string, isOver: boolean): { text: string; length: number } | undefined {
  const length = headers.get('content-length')
  if (length !== null) {
    const text = rest.slice(0, Number(length))
    return text.length < Number(length) ? undefined : { text, length: text.length }
  }
  if (headers.get('transfer-encoding') !== 'chunked') return isOver ? { text: rest, length: rest.length } : undefined
  let text = ''
  for (let at = 0; ; ) {
    const [line, digits = ''] = /^([0-9a-f]+)[^\r\n]*\r\n/i.exec(rest.slice(at)) ?? []
    const size = Number.parseInt(digits, 16)
    if (line === undefined || rest.length < at + line.length + size + 2) return undefined
    text += rest.slice(at + line.length, at + line.length + size)
    at += line.length + size + 2
    if (size === 0) return { text, length: at }
  }
}
