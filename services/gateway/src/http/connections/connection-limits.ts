import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import { httpClosed } from '../../metrics.ts'
import type { Clients } from './client.ts'
import { createCrowd } from './crowd.ts'

/** The limit for all clients together; each connection takes about 15 KB. */
export const MAX_CONNECTIONS = 10_000

export interface ConnectionLimits {
  readonly clients: Clients
  /** Maximum for one client address. Connections of trusted proxies do not count. */
  readonly maxConnectionsPerClient: number
  /** Maximum for all clients together, trusted proxies included. For tests; `MAX_CONNECTIONS` by default. */
  readonly maxConnections?: number
}

interface ConnectionRoom {
  /** Adds a new connection. If there is no room, closes an idle or slow connection, or else the new one. */
  enter(socket: Socket): void
  /** Call this when a request on the connection has begun or ended. */
  touch(socket: Socket): void
  /**
   * Expels a client that has cost this process much more than its rate admits. Closes its other connections and lets it open no
   * new one for `EXPELLED_MS`, because the bytes of a connection are read and parsed before any request can be refused. The
   * caller closes the connection itself. Does nothing for a trusted proxy, because its connections carry requests of many clients.
   */
  expel(socket: Socket): void
}

const EXPELLED_MS = 2_000
/** Maximum number of expelled clients. Past that, the one expelled first may come back. */
const MAX_EXPELLED = 10_000

/**
 * Node's own limit closes the newest connection, so a flood of idle connections would keep all other clients out. This
 * room closes the longest idle connection of one client instead. If a client exceeds its own limit, it is that client.
 * If all clients together exceed the common limit, it is the client with the most idle connections.
 * @param isBusy whether a connection has a request that arrived whole and has no answer yet. A slow upload does not protect it.
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
