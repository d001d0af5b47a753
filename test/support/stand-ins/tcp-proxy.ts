import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { findFreePort } from '@svc/local/engines/ports.ts'

/** Stands between processes and a server that they share with others, so that it can be gone for these alone. */
export interface TcpProxy extends AsyncDisposable {
  /** The URL with this proxy in the place of its server, which is the same for all URLs. */
  through(url: string): string
  /** Ends every connection and refuses new ones, as a machine does on which nothing listens. */
  cut(): Promise<void>
  /** Listens again, on the same port. */
  mend(): Promise<void>
  /** Passes nothing on, either way, and ends nothing: a peer that is gone without a word. Until `thaw`. */
  freeze(): void
  thaw(): void
}

export async function startTcpProxy(): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let isFrozen = false
  let target: { host: string; port: number } | undefined
  const server = createServer((client) => {
    if (target === undefined) {
      client.destroy()
      return
    }
    const upstream = connect(target)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.on('data', (chunk: Buffer) => {
        if (!other.write(chunk)) socket.pause()
      })
      other.on('drain', () => {
        if (!isFrozen) socket.resume()
      })
      socket.on('end', () => other.end())
      if (isFrozen) socket.pause()
    }
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const close = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
  }
  // Not one of those that outgoing connections are given: while it is cut, nobody else may get it.
  const port = await findFreePort()
  await listen(port)
  return {
    through(text) {
      const url = new URL(text)
      target = { host: url.hostname, port: Number(url.port) }
      url.host = `127.0.0.1:${port}`
      return url.href
    },
    cut: close,
    mend: () => listen(port),
    freeze() {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw() {
      isFrozen = false
      for (const socket of sockets) socket.resume()
    },
    [Symbol.asyncDispose]: close,
  }
}
