import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { contentLength, percentile } from './http-load.ts'

/** Sends requests at fixed times, however long the answers take (open-loop load). An overloaded server sees its clients like this. */
interface OpenLoadOptions {
  port: number
  /** Ready-made requests, each sent once. */
  requests: Buffer[]
  perSecond: number
  /** The number of clients, each with an open connection. A request that is due while all connections wait is not sent. */
  connections: number
}

interface Answers {
  count: number
  p50Ms: number
  p99Ms: number
}

export interface OpenLoadResult {
  /** Answers by status. */
  answers: Record<string, Answers>
  sent: number
  /** Requests that were due but not sent, because no connection was free. */
  unsent: number
  /** Connections that broke during a request. */
  broken: number
  elapsedMs: number
}

const TICK_MS = 2
/** The number of connections that are opened at a time. */
const CONNECTED_AT_ONCE = 20
/** The wait for the last answers. */
const LAST_MS = 7_000

export async function runOpenLoad({
  port,
  requests,
  perSecond,
  connections,
}: OpenLoadOptions): Promise<OpenLoadResult> {
  const latencies = new Map<string, number[]>()
  const free: Connection[] = []
  const open = new Set<Connection>()
  let sent = 0
  let unsent = 0
  let broken = 0
  let waiting = 0

  class Connection {
    readonly #socket: Socket
    #sentAt = 0
    #buffered = ''

    constructor() {
      this.#socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
      this.#socket.on('data', (chunk) => this.#receive(String(chunk)))
      this.#socket.on('error', () => {})
      this.#socket.on('close', () => {
        open.delete(this)
        const at = free.indexOf(this)
        if (at >= 0) free.splice(at, 1)
        if (this.#sentAt === 0) return
        broken += 1
        waiting -= 1
      })
      open.add(this)
    }

    connected(): Promise<unknown> {
      return once(this.#socket, 'connect')
    }

    send(request: Buffer): void {
      this.#sentAt = performance.now()
      waiting += 1
      this.#socket.write(request)
    }

    close(): void {
      this.#socket.destroy()
    }

    #receive(chunk: string): void {
      this.#buffered += chunk
      const head = this.#buffered.indexOf('\r\n\r\n')
      if (head < 0 || this.#buffered.length < head + 4 + contentLength(this.#buffered, head)) return
      const status = this.#buffered.slice(9, 12)
      const tookMs = performance.now() - this.#sentAt
      const known = latencies.get(status)
      if (known === undefined) latencies.set(status, [tookMs])
      else known.push(tookMs)
      this.#buffered = ''
      this.#sentAt = 0
      waiting -= 1
      free.push(this)
    }
  }

  while (open.size < connections) {
    const some = Array.from({ length: Math.min(CONNECTED_AT_ONCE, connections - open.size) }, () => new Connection())
    await Promise.all(some.map((connection) => connection.connected()))
    free.push(...some)
  }
  const begin = performance.now()
  for (let next = 0; next < requests.length; ) {
    const due = Math.min(requests.length, Math.floor(((performance.now() - begin) / 1_000) * perSecond))
    for (; next < due; next += 1) {
      const request = requests[next]
      // Take the connection that was idle for longest, because a server closes idle connections.
      const connection = free.shift()
      if (request === undefined || connection === undefined) unsent += 1
      else {
        sent += 1
        connection.send(request)
      }
    }
    await pause(TICK_MS)
  }
  const elapsedMs = performance.now() - begin
  for (const endMs = performance.now() + LAST_MS; waiting > 0 && performance.now() < endMs; ) await pause(TICK_MS)
  for (const connection of open) connection.close()
  const answers = [...latencies].map(([status, list]): [string, Answers] => {
    list.sort((a, b) => a - b)
    return [status, { count: list.length, p50Ms: percentile(list, 0.5), p99Ms: percentile(list, 0.99) }]
  })
  return { answers: Object.fromEntries(answers), sent, unsent, broken, elapsedMs }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
