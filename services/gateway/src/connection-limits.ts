import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { Clients } from './client.ts'
import { createCrowd } from './crowd.ts'
import { httpClosed } from './http-metrics.ts'

/** Of all clients, some 15 KB each. */
export const MAX_CONNECTIONS = 10_000

export interface ConnectionLimits {
  readonly clients: Clients
  /** Of one client address; connections of trusted proxies do not count. */
  readonly maxConnectionsPerClient: number
  /** Of all together, those of trusted proxies too; other than the default for tests. */
  readonly maxConnections?: number
}

export interface ConnectionRoom {
  /** A connection has come in. If there is no room, an idle or slow one is closed for it, and otherwise the connection itself. */
  enter(socket: Socket): void
  /** A request has begun or ended on it. */
  touch(socket: Socket): void
  /**
   * A client has made this process work for much more than its rate admits. Its other connections are closed, and it can open no
   * new one for a moment: what a connection has sent is read and parsed before anything can be refused. Only the connection
   * itself remains, for the caller to close. Of a trusted proxy nothing is closed, because its connections carry requests of many.
   */
  expel(socket: Socket): void
}

const EXPELLED_MS = 2_000
/** Clients that are expelled. The one expelled first goes first. */
const MAX_EXPELLED = 10_000

/**
 * Node's own limit closes whoever comes last, so a flood of idle connections would keep all others out. Here the connection that
 * has been idle for longest makes room: the client's own past the limit of a client, and past the limit of all one of the client that
 * holds most.
 * @param isBusy whether a connection has a request that arrived whole and has no answer yet. A slow request keeps nobody out.
 */
export function createConnectionRoom(
  { clients, maxConnectionsPerClient, maxConnections = MAX_CONNECTIONS }: ConnectionLimits,
  isBusy: (socket: Socket) => boolean,
): ConnectionRoom {
  const crowd = createCrowd(isBusy)
  const proxies = new Set<Socket>()
  const expelled = new LRUCache<string, true>({ max: MAX_EXPELLED, ttl: EXPELLED_MS })

  return {
    enter(socket) {
      const client = clients.ofConnection(socket)
      if (client !== undefined && expelled.size > 0 && expelled.has(client)) {
        httpClosed.add({ reason: 'expelled' })
        socket.destroy()
        return
      }
      if (client === undefined) proxies.add(socket)
      else crowd.add(client, socket)
      socket.once('close', () => leave(socket))
      if (client !== undefined && crowd.countOf(client) > maxConnectionsPerClient) {
        close(crowd.longestIdle(client) ?? socket)
      }
      if (crowd.size + proxies.size > maxConnections) close(crowd.longestIdle() ?? socket)
    },
    touch: (socket) => crowd.touch(socket),
    expel(socket) {
      const client = clients.ofConnection(socket)
      if (client === undefined) return
      expelled.set(client, true)
      for (const other of crowd.membersOf(client)) if (other !== socket) close(other, 'expelled')
    },
  }

  function close(socket: Socket, reason = 'crowded'): void {
    httpClosed.add({ reason })
    leave(socket)
    socket.destroy()
  }

  function leave(socket: Socket): void {
    crowd.remove(socket)
    proxies.delete(socket)
  }
}
