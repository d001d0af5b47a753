import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { findFreePort } from '@svc/local/engines/ports.ts'

/** A proxy between some processes and a server. It can cut off the server for these processes only. */
export interface TcpProxy extends AsyncDisposable {
  /** Replaces the server in a URL by this proxy. All URLs must name the same server. */
  through(url: string): string
  /** Ends every connection and refuses new ones, like a machine on which nothing listens. */
  cut(): Promise<void>
  /** Listens again on the same port. */
  mend(): Promise<void>
  /** Holds back all bytes in both directions until `thaw`, and closes nothing, like a peer that disappeared. */
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
  // Outside the ephemeral range, so that no other process gets the port while the proxy does not listen.
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
