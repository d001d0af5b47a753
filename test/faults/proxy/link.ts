import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { findFreePort } from '@svc/local/engines/ports.ts'
import { type Direction, joinSockets, type LinkConnection } from './joined.ts'

/** A proxy between one process and one server. It can simulate every network fault. */
export interface Link extends AsyncDisposable {
  /** The open connections. */
  readonly connections: ReadonlySet<LinkConnection>
  /** Replaces the server in a URL by this link. All URLs of a link must name the same server. */
  through(url: string): string
  /** Like `LinkConnection`, for all connections, and for new ones until `heal`. */
  hold(direction?: Direction): void
  delay(ms: number, direction?: Direction): void
  /** Resets every connection at once, but accepts new ones. */
  reset(): void
  /** Like `reset`, but also refuses new connections, like a machine on which nothing listens. */
  cut(): Promise<void>
  /** Ends all faults. Connections that were closed stay closed. */
  heal(): Promise<void>
}

interface Trouble {
  held: Direction | undefined
  delays: readonly [ms: number, direction: Direction][]
}

const HOST = '127.0.0.1'
const NONE: Trouble = { held: undefined, delays: [] }

/** Listens on a port outside the ephemeral range, so that no outgoing connection can take the port while the link is cut. */
export async function startLink(): Promise<Link & { readonly port: number }> {
  const port = await findFreePort()
  const connections = new Set<LinkConnection>()
  let target: { host: string; port: number } | undefined
  let trouble = NONE
  // the end of one direction does not end the other
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
  await listen(port)

  return {
    port,
    connections,
    through(text) {
      const url = new URL(text)
      target = { host: url.hostname, port: Number(url.port) }
      url.host = `${HOST}:${port}`
      return url.href
    },
    hold(direction = 'both') {
      trouble = { ...trouble, held: direction }
      for (const connection of connections) connection.hold(direction)
    },
    delay(ms, direction = 'both') {
      trouble = { ...trouble, delays: [...trouble.delays, [ms, direction]] }
      for (const connection of connections) connection.delay(ms, direction)
    },
    reset: resetAll,
    cut: close,
    async heal() {
      trouble = NONE
      for (const connection of connections) connection.heal()
      if (!server.listening) await listen(port)
    },
    [Symbol.asyncDispose]: close,
  }

  function accept(client: Socket): void {
    if (target === undefined) {
      client.resetAndDestroy()
      return
    }
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true })
    const joined = joinSockets(client, upstream, () => connections.delete(joined))
    connections.add(joined)
    if (trouble.held !== undefined) joined.hold(trouble.held)
    for (const [ms, direction] of trouble.delays) joined.delay(ms, direction)
  }

  function resetAll(): void {
    for (const connection of connections) connection.reset()
  }

  async function listen(onPort: number): Promise<void> {
    server.listen(onPort, HOST)
    await once(server, 'listening')
  }

  async function close(): Promise<void> {
    const closed = server.listening ? once(server, 'close') : undefined
    if (closed !== undefined) server.close()
    resetAll()
    await closed
  }
}
