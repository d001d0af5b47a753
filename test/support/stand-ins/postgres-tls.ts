/** A TLS-aware server in front of Postgres, or instead of it. The test decides how it answers the request for TLS. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Credentials } from '../engines/certificates.ts'

interface PostgresDoor extends AsyncDisposable {
  readonly port: number
  /** How each connection began: with TLS or without. */
  readonly begun: ('tls' | 'plain')[]
  /** Readable bytes that the server received, except the request for TLS. */
  receivedBytes(): number
}

export interface DoorOptions {
  /** With credentials the server accepts TLS; without them it refuses TLS. */
  readonly credentials?: Credentials
  /** The Postgres behind this server. If there is none, requests get no answer. */
  readonly toPort?: number
}

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

export async function openDoor({ credentials, toPort }: DoorOptions): Promise<PostgresDoor> {
  const sockets = new Set<Socket>()
  const begun: ('tls' | 'plain')[] = []
  let receivedBytes = 0
  const secureContext = credentials && createSecureContext(credentials)
  const keep = <S extends Socket>(socket: S): S => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  const pass = (socket: Socket, first?: Buffer): void => {
    receivedBytes += first?.length ?? 0
    socket.on('data', (bytes) => {
      receivedBytes += bytes.length
    })
    if (toPort === undefined) return
    const behind = keep(connect(toPort, '127.0.0.1'))
    if (first !== undefined) behind.write(first)
    socket.pipe(behind).pipe(socket)
    socket.on('close', () => behind.destroy())
  }
  const server = createServer((socket) => {
    keep(socket).once('data', (bytes) => {
      const asksForTls = bytes.equals(SSL_REQUEST)
      begun.push(asksForTls ? 'tls' : 'plain')
      if (!asksForTls) return pass(socket, bytes)
      socket.write(secureContext === undefined ? 'N' : 'S')
      pass(secureContext === undefined ? socket : keep(new TLSSocket(socket, { isServer: true, secureContext })))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    begun,
    receivedBytes: () => receivedBytes,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
