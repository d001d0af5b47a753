import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { httpClosed } from '../../metrics.ts'
import type { Clients } from './client.ts'
import { connectionOf } from './connection.ts'

/**
 * Maximum number of requests, over all connections, that wait for an earlier request on their connection. Each takes some KB.
 * One connection holds at most about 3,600, because it is not read while its requests wait.
 */
const MAX_WAITING = 4_096

/** A request that waits. */
interface Waiting {
  readonly request: IncomingMessage
  readonly begin: () => void
}

interface Queue {
  readonly requests: Waiting[]
  /** When the last request began, or the first one came. */
  movedMs: number
}

/**
 * Requests that wait for an earlier request on their connection. They begin one after another, at most one in each turn of the
 * event loop, so pipelining does not give a client a larger share. Meanwhile the connection is not read.
 */
export class Pipelines {
  readonly #queues = new Map<Socket, Queue>()
  readonly #clients: Pick<Clients, 'ofConnection'>
  readonly #onDropped: (request: IncomingMessage) => void
  #waiting = 0

  /** @param onDropped called for each request whose connection closed before the request began. */
  constructor(clients: Pick<Clients, 'ofConnection'>, onDropped: (request: IncomingMessage) => void) {
    this.#clients = clients
    this.#onDropped = onDropped
  }

  /** Whether requests of the connection wait, so that it is not read. */
  isWaiting(socket: Socket): boolean {
    return this.#queues.has(socket)
  }

  /** Lets a request wait. If too many requests wait, closes a connection of the client whose requests have waited longest in sum. */
  queueRequest(socket: Socket, request: IncomingMessage, begin: () => void): void {
    const queue = this.#queues.get(socket) ?? this.#pauseConnection(socket)
    queue.requests.push({ request, begin })
    this.#waiting += 1
    if (this.#waiting > MAX_WAITING) this.#closeHeaviest()
  }

  /** Begins the next request of the connection, if one waits. Call this when the answer to the previous one was sent. */
  beginNext(socket: Socket): void {
    if (!this.#queues.has(socket)) return
    setImmediate(() => {
      const queue = this.#queues.get(socket)
      const next = queue?.requests.shift()
      if (queue === undefined || next === undefined) return
      this.#waiting -= 1
      queue.movedMs = performance.now()
      if (queue.requests.length === 0) {
        this.#queues.delete(socket)
        if (!connectionOf(socket).isBroken) socket.resume()
      }
      next.begin()
    })
  }

  /** Forgets the requests of a closed connection. */
  dropConnection(socket: Socket): void {
    const queue = this.#queues.get(socket)
    if (queue === undefined) return
    this.#queues.delete(socket)
    this.#waiting -= queue.requests.length
    for (const { request } of queue.requests) this.#onDropped(request)
  }

  #pauseConnection(socket: Socket): Queue {
    const queue: Queue = { requests: [], movedMs: performance.now() }
    this.#queues.set(socket, queue)
    // Node resumes a connection when it has parsed a request, and reads on in the next tick. Microtasks run after that.
    queueMicrotask(() => {
      if (this.#queues.has(socket)) socket.pause()
    })
    return queue
  }

  /**
   * A request weighs as much as the time for which its connection has not moved, so a client that reads its answers weighs
   * little, however deep it pipelines. Of the client that weighs most, the heaviest connection is closed.
   */
  #closeHeaviest(): void {
    const nowMs = performance.now()
    const clients = new Map<string, { weight: number; heaviest: Socket; most: number }>()
    for (const [socket, { requests, movedMs }] of this.#queues) {
      const weight = requests.length * (nowMs - movedMs + 1)
      const key = this.#clients.ofConnection(socket) ?? ''
      const client = clients.get(key) ?? { weight: 0, heaviest: socket, most: 0 }
      client.weight += weight
      if (weight > client.most) [client.heaviest, client.most] = [socket, weight]
      clients.set(key, client)
    }
    const worst = [...clients.values()].reduce((one, other) => (other.weight > one.weight ? other : one))
    httpClosed.add({ reason: 'pipelined' })
    worst.heaviest.resetAndDestroy()
    this.dropConnection(worst.heaviest)
  }
}
