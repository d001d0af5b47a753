import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { RoundRobin } from '@svc/batching/round-robin.ts'
import { httpClosed } from '../../metrics.ts'
import type { Clients } from './client.ts'
import type { Reading } from './reading.ts'

/**
 * Maximum number of requests, over all connections, that wait for an earlier request on their connection. Each takes some KB.
 * One connection holds at most about 3,600, because it is not read while its requests wait.
 */
const MAX_WAITING = 4_096
/** A connection with this many waiting requests brought more than clients usually pipeline. */
const MANY = 64

/** While heavy connections wait for room, a connection whose requests have not moved for this long must make room. */
const STUCK_MS = 1_000
const LOOK_AGAIN_MS = 10

/** A request that waits. */
interface Waiting {
  readonly request: IncomingMessage
  readonly begin: () => void
}

interface Queue {
  readonly requests: Waiting[]
  hasMany: boolean
  /** When the last request began, or the first one came. */
  movedMs: number
}

interface PipelinesOptions {
  readonly clients: Pick<Clients, 'ofConnection'>
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
  /** Connections that brought many requests, have none left, and wait to be read again. */
  readonly #heavy = new RoundRobin<string, Socket>()
  readonly #options: PipelinesOptions
  #waiting = 0
  #isReading = false

  constructor(options: PipelinesOptions) {
    this.#options = options
  }

  add(socket: Socket, request: IncomingMessage, begin: () => void): void {
    const queue = this.#queues.get(socket) ?? this.#open(socket)
    queue.requests.push({ request, begin })
    this.#waiting += 1
    if (queue.requests.length === MANY) {
      queue.hasMany = true
      this.#options.reading.noteMuch(socket)
    }
    if (this.#waiting > MAX_WAITING) this.#makeRoom()
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
      if (queue.requests.length === 0) this.#close(socket, queue)
      next.begin()
    })
  }

  #open(socket: Socket): Queue {
    const queue: Queue = { requests: [], hasMany: false, movedMs: performance.now() }
    this.#queues.set(socket, queue)
    this.#options.reading.pause(socket)
    return queue
  }

  #close(socket: Socket, { hasMany }: Queue): void {
    this.#queues.delete(socket)
    const { clients, reading } = this.#options
    if (!hasMany) {
      reading.resume(socket)
      return
    }
    this.#heavy.push(clients.ofConnection(socket) ?? '', socket)
    if (!this.#isReading) void this.#readHeavy()
  }

  /** Reads heavy connections one after another, each one when there is room for what it may bring. */
  async #readHeavy(): Promise<void> {
    this.#isReading = true
    for (let next = this.#heavy.shift(); next !== undefined; next = this.#heavy.shift()) {
      await this.#room()
      await this.#options.reading.resumeInTurn(next.item)
    }
    this.#isReading = false
  }

  async #room(): Promise<void> {
    for (let waitedMs = LOOK_AGAIN_MS; this.#waiting > MAX_WAITING / 2; waitedMs += LOOK_AGAIN_MS) {
      if (waitedMs % STUCK_MS === 0) this.#makeRoom(STUCK_MS)
      await sleep(LOOK_AGAIN_MS, undefined, { ref: false })
    }
  }

  /** Forgets the requests of a closed connection. */
  drop(socket: Socket): void {
    const queue = this.#queues.get(socket)
    if (queue === undefined) return
    this.#queues.delete(socket)
    this.#waiting -= queue.requests.length
    for (const { request } of queue.requests) this.#options.onDropped(request)
  }

  /**
   * Closes one connection. A request weighs as much as the time for which its connection has not moved, so a client that reads
   * its answers weighs little, however deep it pipelines. Of the client that weighs most, the heaviest connection is closed.
   * @param unmovedMs spares connections of which a request has begun since.
   */
  #makeRoom(unmovedMs = 0): void {
    const nowMs = performance.now()
    const clients = new Map<string, { weight: number; heaviest: Socket; most: number }>()
    for (const [socket, { requests, movedMs }] of this.#queues) {
      const ageMs = nowMs - movedMs
      if (ageMs < unmovedMs) continue
      const weight = requests.length * (ageMs + 1)
      const key = this.#options.clients.ofConnection(socket) ?? ''
      const client = clients.get(key) ?? { weight: 0, heaviest: socket, most: 0 }
      client.weight += weight
      if (weight > client.most) [client.heaviest, client.most] = [socket, weight]
      clients.set(key, client)
    }
    let worst: { weight: number; heaviest: Socket } | undefined
    for (const client of clients.values()) if (client.weight > (worst?.weight ?? 0)) worst = client
    if (worst === undefined) return
    httpClosed.add({ reason: 'pipelined' })
    worst.heaviest.resetAndDestroy()
    this.drop(worst.heaviest)
  }
}
