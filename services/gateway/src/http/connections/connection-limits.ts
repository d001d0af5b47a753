import type { Socket } from 'node:net'
import { httpClosed } from '../../metrics.ts'
import type { Clients } from './client.ts'
import { connectionOf } from './connection.ts'
import { createCrowd } from './crowd.ts'

/** The limit for all clients together; each connection takes about 15 KB. */
export const MAX_CONNECTIONS = 10_000

interface ConnectionLimits {
  readonly clients: Clients
  /** Maximum for one client address. Connections of trusted proxies do not count. */
  readonly maxConnectionsPerClient: number
  /** Maximum for all clients together, trusted proxies included. For tests; `MAX_CONNECTIONS` by default. */
  readonly maxConnections?: number
}

export interface ConnectionRoom {
  /** Adds a new connection. If there is no room, closes an idle or slow connection, or else the new one. */
  enter(socket: Socket): void
  /** Call this when a request on the connection has begun or ended, or while its client reads an answer or a stream. */
  touch(socket: Socket): void
  /** The other connections of the same client; none for a trusted proxy, because its connections carry requests of many clients. */
  neighboursOf(socket: Socket): readonly Socket[]
}

/**
 * Node's own limit closes the newest connection, so a flood of idle connections would keep all other clients out. This
 * room closes the longest idle connection of one client instead. If a client exceeds its own limit, it is that client.
 * If all clients together exceed the common limit, it is the client with the most idle connections.
 * A connection whose request waits for its answer is never closed.
 */
export function createConnectionRoom({
  clients,
  maxConnectionsPerClient,
  maxConnections = MAX_CONNECTIONS,
}: ConnectionLimits): ConnectionRoom {
  const crowd = createCrowd<Socket>((socket) => connectionOf(socket).isBusy)
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
    neighboursOf(socket) {
      const client = clients.ofConnection(socket)
      return client === undefined ? [] : crowd.membersOf(client).filter((other) => other !== socket)
    },
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
