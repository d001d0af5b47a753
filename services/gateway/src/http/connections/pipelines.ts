import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { httpClosed } from '../../metrics.ts'
import type { Reading } from './reading.ts'

/**
 * Maximum number of requests, over all connections, that wait for an earlier request on their connection. Each takes some KB.
 * One connection holds at most about 3,600, because it is not read while its requests wait.
 */
const MAX_WAITING = 4_096
/** A connection with this many waiting requests brought more than clients usually pipeline. */
const MANY = 64

/** A request that waits. */
interface Waiting {
  readonly request: IncomingMessage
  readonly begin: () => void
}

interface Queue {
  readonly requests: Waiting[]
  hasMany: boolean
}

interface PipelinesOptions {
  readonly reading: Reading
  /** Called for each request whose connection closed before the request began. */
  readonly onDropped: (request: IncomingMessage) => void
}

/**
 * Requests that wait for an earlier request on their connection. They begin one after another, at most one in each turn of the
 * event loop, so pipelining does not give a client a larger share. Meanwhile the connection is not read.
 */
export class Pipelines {
  readonly #queues = new Map<Socket, Queue>()
  readonly #options: PipelinesOptions
  #waiting = 0

  constructor(options: PipelinesOptions) {
    this.#options = options
  }

  add(socket: Socket, request: IncomingMessage, begin: () => void): void {
    const queue = this.#queues.get(socket) ?? this.#open(socket)
    queue.requests.push({ request, begin })
    this.#count(1)
    if (queue.requests.length === MANY) {
      queue.hasMany = true
      this.#options.reading.noteMuch(socket)
    }
    if (this.#waiting > MAX_WAITING) this.#closeLongest()
  }

  /** Begins the next request of the connection, if one waits. Call this when the answer to the previous one was sent. */
  beginNext(socket: Socket): void {
    if (!this.#queues.has(socket)) return
    setImmediate(() => {
      const queue = this.#queues.get(socket)
      const next = queue?.requests.shift()
      if (queue === undefined || next === undefined) return
      this.#count(-1)
      if (queue.requests.length === 0) this.#close(socket, queue)
      next.begin()
    })
  }

  #open(socket: Socket): Queue {
    const queue: Queue = { requests: [], hasMany: false }
    this.#queues.set(socket, queue)
    this.#options.reading.pause(socket)
    return queue
  }

  #close(socket: Socket, { hasMany }: Queue): void {
    this.#queues.delete(socket)
    if (hasMany) this.#options.reading.resumeInTurn(socket)
    else this.#options.reading.resume(socket)
  }

  /** Forgets the requests of a closed connection. */
  drop(socket: Socket): void {
    const queue = this.#queues.get(socket)
    if (queue === undefined) return
    this.#queues.delete(socket)
    this.#count(-queue.requests.length)
    for (const { request } of queue.requests) this.#options.onDropped(request)
  }

  /** One more connection fits if no more than half of the requests wait that may. */
  #count(change: number): void {
    this.#waiting += change
    this.#options.reading.setFull(this.#waiting > MAX_WAITING / 2)
  }

  #closeLongest(): void {
    let longest: Socket | undefined
    let most = 0
    for (const [socket, { requests }] of this.#queues) {
      if (requests.length > most) [longest, most] = [socket, requests.length]
    }
    if (longest === undefined) return
    httpClosed.add({ reason: 'pipelined' })
    longest.resetAndDestroy()
    this.drop(longest)
  }
}
