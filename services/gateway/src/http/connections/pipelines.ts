import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { httpClosed } from '../../metrics.ts'
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

/**
 * Requests that wait for an earlier request on their connection. They begin one after another, at most one in each turn of the
 * event loop, so pipelining does not give a client a larger share. Meanwhile the connection is not read.
 */
export class Pipelines {
  readonly #queues = new Map<Socket, Waiting[]>()
  readonly #onDropped: (request: IncomingMessage) => void
  #waiting = 0

  /** @param onDropped called for each request whose connection closed before the request began. */
  constructor(onDropped: (request: IncomingMessage) => void) {
    this.#onDropped = onDropped
  }

  /** Whether requests of the connection wait, so that it is not read. */
  isWaiting(socket: Socket): boolean {
    return this.#queues.has(socket)
  }

  /** Lets a request wait. If too many requests wait, closes the connection that has most of them. */
  queueRequest(socket: Socket, request: IncomingMessage, begin: () => void): void {
    const queue = this.#queues.get(socket) ?? this.#pauseConnection(socket)
    queue.push({ request, begin })
    this.#waiting += 1
    if (this.#waiting > MAX_WAITING) this.#closeLongest()
  }

  /** Begins the next request of the connection, if one waits. Call this when the answer to the previous one was sent. */
  beginNext(socket: Socket): void {
    if (!this.#queues.has(socket)) return
    setImmediate(() => {
      const queue = this.#queues.get(socket)
      const next = queue?.shift()
      if (queue === undefined || next === undefined) return
      this.#waiting -= 1
      if (queue.length === 0) {
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
    this.#waiting -= queue.length
    for (const { request } of queue) this.#onDropped(request)
  }

  #pauseConnection(socket: Socket): Waiting[] {
    const queue: Waiting[] = []
    this.#queues.set(socket, queue)
    // Node resumes a connection when it has parsed a request, and reads on in the next tick. Microtasks run after that.
    queueMicrotask(() => {
      if (this.#queues.has(socket)) socket.pause()
    })
    return queue
  }

  #closeLongest(): void {
    let longest: [Socket, Waiting[]] | undefined
    for (const each of this.#queues) if (each[1].length > (longest?.[1].length ?? 0)) longest = each
    if (longest === undefined) return
    httpClosed.add({ reason: 'pipelined' })
    longest[0].resetAndDestroy()
    this.dropConnection(longest[0])
  }
}
