import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { findFreePort } from '@svc/local/engines/ports.ts'
import { type Direction, joinSockets, type LinkConnection } from './joined.ts'

/** The way of one process to one server, on which everything can go wrong that goes wrong in a network. */
export interface Link extends AsyncDisposable {
  /** Those that are open now. */
  readonly connections: ReadonlySet<LinkConnection>
  /** The URL with this link in the place of its server, which is the same for all URLs. */
  through(url: string): string
  /** As `LinkConnection`, for all connections, also for those that are made until `heal`. */
  hold(direction?: Direction): void
  delay(ms: number, direction?: Direction): void
  /** Ends every connection at once. New ones are taken. */
  reset(): void
  /** As `reset`, and new ones are refused, as by a machine on which nothing listens. */
  cut(): Promise<void>
  /** Everything is as in the beginning, but for connections that were ended. */
  heal(): Promise<void>
}

interface Trouble {
  held: Direction | undefined
  delays: readonly [ms: number, direction: Direction][]
}

const HOST = '127.0.0.1'
const NONE: Trouble = { held: undefined, delays: [] }

/** Its port is not one of those that outgoing connections are given: while the link is cut, nobody else may get it. */
export async function startLink(): Promise<Link & { readonly port: number }> {
  const port = await findFreePort()
  const connections = new Set<LinkConnection>()
  let target: { host: string; port: number } | undefined
  let trouble = NONE
  // A half that was ended is not the end of the other one.
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
