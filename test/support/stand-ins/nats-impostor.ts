/** A server that greets like NATS, records everything it receives, and answers pings. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Credentials } from '../engines/certificates.ts'

export interface ImpostorOptions {
  /** The port of an earlier start. Default: a free port. */
  readonly port?: number
  /** With credentials the server requires TLS; without them it offers none. */
  readonly credentials?: Credentials
  /** Refuses every login. */
  readonly refusing?: boolean
  /** Servers of its cluster, as `host:port`, which the server announces to clients. */
  readonly peers?: readonly string[]
}

interface Impostor extends AsyncDisposable {
  readonly port: number
  /** Number of connections so far. */
  connections(): number
  /** Everything the server received and could read, as plain text or decrypted. */
  received(): string
}

export async function startImpostor({
  port = 0,
  credentials,
  refusing = false,
  peers = [],
}: ImpostorOptions = {}): Promise<Impostor> {
  const sockets = new Set<Socket>()
  let connections = 0
  let received = ''
  const secureContext = credentials && createSecureContext(credentials)
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    const tls = secureContext === undefined ? {} : { tls_required: true, tls_available: true }
    const info = { server_id: 'X', version: '2.14.0', proto: 1, headers: true, max_payload: 1_048_576, ...tls }
    socket.write(`INFO ${JSON.stringify({ ...info, connect_urls: peers })}\r\n`)
    if (secureContext === undefined) return listen(socket)
    const secured = new TLSSocket(socket, { isServer: true, secureContext })
    secured.on('error', () => {})
    listen(secured)
  })
  const listen = (socket: Socket): void => {
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      received += text
      if (refusing && text.includes('CONNECT')) socket.end("-ERR 'Authorization Violation'\r\n")
      else for (const _ of text.matchAll(/PING\r\n/g)) socket.write('PONG\r\n')
    })
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    received: () => received,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
