import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { httpClosed } from '../../metrics.ts'
import type { Clients } from './client.ts'
import { connectionOf } from './connection.ts'

/** Busy connections are passed over, but no more than this many for one newcomer. */
const MAX_PASSED_OVER = 64

interface CrowdLimits {
  readonly clients: Pick<Clients, 'ofConnection'>
  /** Maximum number of connections of one client address. Connections of trusted proxies do not count. */
  readonly maxPerClient: number
  /** Maximum number of connections of all clients together. */
  readonly max: number
}

/**
 * Connections by client address. Past a limit, the connection without a request that was used longest ago is closed for a new
 * one: past its own limit one of the client, past the common limit one of the client with most connections. So neither idle
 * connections nor slow heads keep anybody out. If all of them are busy, the new connection is closed.
 */
export class Crowd {
  readonly #limits: CrowdLimits
  /** The connections of each client, in the order of their last use. */
  readonly #members = new Map<string, Set<Socket>>()
  #size = 0

  constructor(limits: CrowdLimits) {
    this.#limits = limits
  }

  /** Watches the connections of a server. */
  watch(server: Server): void {
    server.on('connection', (socket) => this.enter(socket))
    server.on('request', ({ socket }, response) => {
      this.#touch(socket)
      response.once('close', () => this.#touch(socket))
    })
  }

  enter(socket: Socket): void {
    const client = this.#limits.clients.ofConnection(socket)
    if (client === undefined) return
    const members = this.#members.get(client) ?? new Set()
    this.#members.set(client, members.add(socket))
    this.#size += 1
    socket.once('close', () => this.#leave(client, socket))
    if (members.size > this.#limits.maxPerClient) this.#closeOneOf(client, socket)
    if (this.#size > this.#limits.max) this.#closeOneOf(this.#largest(), socket)
  }

  #touch(socket: Socket): void {
    const members = this.#members.get(this.#limits.clients.ofConnection(socket) ?? '')
    if (members?.delete(socket)) members.add(socket)
  }

  #leave(client: string, socket: Socket): void {
    const members = this.#members.get(client)
    if (!members?.delete(socket)) return
    this.#size -= 1
    if (members.size === 0) this.#members.delete(client)
  }

  #closeOneOf(client: string, newest: Socket): void {
    httpClosed.add({ reason: 'crowded' })
    const closed = this.#longestIdle(client) ?? newest
    this.#leave(client, closed)
    if (closed === newest) this.#leave(this.#limits.clients.ofConnection(newest) ?? '', newest)
    closed.destroy()
  }

  #longestIdle(client: string): Socket | undefined {
    let passedOver = 0
    for (const socket of this.#members.get(client) ?? []) {
      if (connectionOf(socket).open.size === 0) return socket
      this.#touch(socket)
      passedOver += 1
      if (passedOver === MAX_PASSED_OVER) return undefined
    }
    return undefined
  }

  #largest(): string {
    let largest = ''
    let most = 0
    for (const [client, { size }] of this.#members) if (size > most) [largest, most] = [client, size]
    return largest
  }
}
