import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** What a connection has asked for and not yet received. */
class Connection {
  /** Responses that are not completely sent. */
  readonly open = new Set<ServerResponse>()
  /** Number of requests whose head was read. */
  heads = 0
  /** Whether the connection is being closed because of what it sent. */
  isBroken = false

  get hasOpenBody(): boolean {
    return [...this.open].some(({ req }) => !req.complete)
  }
}

const connections = new WeakMap<Duplex, Connection>()

export function connectionOf(socket: Duplex): Connection {
  let connection = connections.get(socket)
  if (connection === undefined) {
    connection = new Connection()
    connections.set(socket, connection)
  }
  return connection
}
