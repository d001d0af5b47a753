/**
 * Accepts connections faster. libuv takes one connection from a listening socket per turn of the event loop, so clients that open
 * and drop hundreds a second keep others waiting for seconds, even if this process is half idle. Several sockets that
 * listen on one port (SO_REUSEPORT) give several connections per turn.
 */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type Server as Acceptor, type AddressInfo, createServer, type ListenOptions } from 'node:net'

/** Sockets that listen. Each turn of the event loop takes one connection from each of them. */
const ACCEPTORS = 8
/** Connections that the kernel queues until this process accepts them. Clients beyond that retry after 1 s, then 2 s, then 4 s. */
const BACKLOG = 4_096

/** A server that listens. */
export interface Listening {
  readonly port: number
  /** Stops listening at once, on all sockets. Resolves when their connections are gone. */
  close(): Promise<void>
}

/**
 * Makes an HTTP server listen, on several sockets.
 * @throws Error with the code `EADDRINUSE` if another program has the port, even if that program allows others to share it.
 */
export async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<Listening> {
  if (port !== 0) await probe({ host, port })
  const listening: Acceptor[] = []
  const open = async (acceptor: Acceptor, options: ListenOptions): Promise<void> => {
    acceptor.listen({ host, backlog: BACKLOG, ...options })
    await once(acceptor, 'listening')
    listening.push(acceptor)
  }
  const close = async (): Promise<void> => {
    await Promise.all(listening.map((acceptor) => new Promise((resolve) => acceptor.close(resolve))))
  }

  const canShare = process.platform === 'linux'
  try {
    await open(server, { port, reusePort: canShare })
    const given = (server.address() as AddressInfo).port
    while (canShare && listening.length < ACCEPTORS) await open(acceptorFor(server), { port: given, reusePort: true })
    return { port: given, close }
  } catch (error) {
    await close()
    throw error
  }
}

function acceptorFor(server: Server): Acceptor {
  // The options that Node's HTTP server sets for its own connections.
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.emit('connection', socket)
  })
}

/** Fails if the port is in use. Otherwise two gateways on one machine could share a port, and each would get half of the connections. */
async function probe(address: ListenOptions): Promise<void> {
  const alone = createServer().listen(address)
  await once(alone, 'listening')
  await new Promise((resolve) => alone.close(resolve))
}
