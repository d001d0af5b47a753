import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'

type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void

// The package has no types of its own.
const compression: (options: { threshold: number }) => Middleware = createRequire(import.meta.url)('compression')

/** A proxy that compresses what it may, and so holds bytes back until a block is full. */
export async function startCompressingProxy(target: string): Promise<AsyncDisposable & { readonly url: string }> {
  const compress = compression({ threshold: 0 })
  const server = createServer((incoming, outgoing) => {
    compress(incoming, outgoing, () => {
      const upstream = request(target + incoming.url, { headers: incoming.headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        outgoing.flushHeaders()
        answer.pipe(outgoing)
      })
      outgoing.on('close', () => upstream.destroy())
      upstream.on('error', () => outgoing.destroy())
      upstream.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}
