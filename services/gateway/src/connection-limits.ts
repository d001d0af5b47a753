import type { Socket } from 'node:net'
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
}

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

  return {
    enter(socket) {
      const client = clients.ofConnection(socket)
      if (client === undefined) proxies.add(socket)
      else crowd.add(client, socket)
      socket.once('close', () => leave(socket))
      if (client !== undefined && crowd.countOf(client) > maxConnectionsPerClient) {
        close(crowd.longestIdle(client) ?? socket)
      }
      if (crowd.size + proxies.size > maxConnections) close(crowd.longestIdle() ?? socket)
    },
    touch: (socket) => crowd.touch(socket),
  }

  function close(socket: Socket): void {
    httpClosed.add({ reason: 'crowded' })
    leave(socket)
    socket.destroy()
  }

  function leave(socket: Socket): void {
    crowd.remove(socket)
    proxies.delete(socket)
  }
}
