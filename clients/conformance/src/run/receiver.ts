/** Receives webhook deliveries for cases (chapter 10). Each case uses a path of its own. */
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'

export interface Delivery {
  readonly method: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  readonly atMs: number
}

/** The answer to a delivery: a status, or a function that writes it. */
export type Respond = number | ((delivery: Delivery, response: ServerResponse) => unknown)

export interface Receiver extends AsyncDisposable {
  /** What the server is told, without a slash at the end. */
  readonly url: string
  at(path: string): readonly Delivery[]
  /** Default: 204. */
  answer(path: string, respond: Respond): void
}

export interface ReceiverOptions {
  /** The public URL that leads to the port. */
  readonly url: string
  readonly port: number
  /** PEM. Without it the receiver speaks plain HTTP, behind something that ends TLS. */
  readonly tls?: { readonly key: string; readonly cert: string } | undefined
}

export async function startReceiver({ url, port, tls }: ReceiverOptions): Promise<Receiver> {
  const deliveries = new Map<string, Delivery[]>()
  const answers = new Map<string, Respond>()
  const { pathname } = new URL(url)
  const prefix = pathname.replace(/\/$/, '')
  const take: RequestListener = (request, response) => {
    receive(request, response).catch(() => response.destroy())
  }
  const server = tls === undefined ? createHttpServer(take) : createHttpsServer(tls, take)
  server.listen(port)
  await once(server, 'listening')
  return {
    url: url.replace(/\/$/, ''),
    at: (path) => deliveries.get(prefix + path) ?? [],
    answer: (path, respond) => void answers.set(prefix + path, respond),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    const delivery = { method: request.method ?? '', headers: request.headers, body, atMs: Date.now() }
    const path = request.url ?? ''
    deliveries.set(path, [...(deliveries.get(path) ?? []), delivery])
    const respond = answers.get(path) ?? 204
    if (typeof respond === 'number') response.writeHead(respond).end()
    else await respond(delivery, response)
  }
}
