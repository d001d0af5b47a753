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
  /** The sender closed the connection before the whole answer was written. */
  isGivenUp: boolean
}

/** The answer to a delivery: a status, with headers or without; none until the next call of `answer`; or a function that writes it. */
export type Respond =
  | number
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | 'hold'
  | ((delivery: Delivery, response: ServerResponse) => unknown)

export interface Receiver extends AsyncDisposable {
  /** What the server is told, without a slash at the end. */
  readonly url: string
  at(path: string): readonly Delivery[]
  /** Answers held deliveries too. Default: 204. @param responds one after the other; the last is for all that follow. */
  answer(path: string, ...responds: readonly Respond[]): void
}

interface ReceiverOptions {
  /** The public URL that leads to the port. */
  readonly url: string
  readonly port: number
  /** PEM. Without it the receiver speaks plain HTTP, behind something that ends TLS. */
  readonly tls?: { readonly key: string; readonly cert: string } | undefined
}

export async function startReceiver({ url, port, tls }: ReceiverOptions): Promise<Receiver> {
  const deliveries = new Map<string, Delivery[]>()
  const answers = new Map<string, Respond[]>()
  const held: { path: string; delivery: Delivery; response: ServerResponse }[] = []
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
    answer(path, ...responds) {
      answers.set(prefix + path, [...responds])
      for (const { path: at, delivery, response } of held.splice(0)) respond(at, delivery, response)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    const { method = '', headers, url: path = '' } = request
    const delivery: Delivery = { method, headers, body, atMs: Date.now(), isGivenUp: false }
    response.on('close', () => {
      delivery.isGivenUp = !response.writableFinished
    })
    deliveries.set(path, [...(deliveries.get(path) ?? []), delivery])
    respond(path, delivery, response)
  }

  function respond(path: string, delivery: Delivery, response: ServerResponse): void {
    const [first = 204, ...others] = answers.get(path) ?? []
    if (others.length > 0) answers.set(path, others)
    if (first === 'hold') held.push({ path, delivery, response })
    else if (typeof first === 'number') response.writeHead(first).end()
    else if (typeof first === 'object') response.writeHead(first.status, first.headers).end()
    else first(delivery, response)
  }
}
