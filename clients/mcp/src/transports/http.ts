import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, InMemoryServerEventBus, isLegacyRequest } from '@modelcontextprotocol/server'
import type { CallbackRules } from '../events/subscriptions/callback.ts'
import { Subscriptions } from '../events/subscriptions/subscribe.ts'
import type { Mailbox } from '../mailbox.ts'
import { changingUris } from '../resources.ts'
import { createServer } from '../server.ts'
import { createHttpSessions } from './http-sessions.ts'
import { createGuard, listenOnLoopback } from './loopback.ts'
import { requestWithArguments } from './received.ts'
import { serveSubscriptions } from './subscriptions.ts'

export interface HttpFace extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/mcp`. */
  readonly url: string
}

const PATH = '/mcp'
/** Larger than any valid call of a tool. */
const MAX_BODY_BYTES = 512 * 1024

/**
 * Serves any number of clients on this machine over Streamable HTTP (loopback.ts).
 * @param port 0 for any free port.
 * @param token at least 32 characters. Clients send it as `Authorization: Bearer <token>`.
 * @param callbacks rules for the URLs of event subscriptions, for tests.
 */
export async function serveOverHttp(
  mailbox: Mailbox,
  { port, token, callbacks = {} }: { port: number; token: string; callbacks?: CallbackRules },
): Promise<HttpFace> {
  // A callback is a way out of this machine.
  const subscriptions = mailbox.policy.readOnly ? undefined : new Subscriptions(mailbox, { token, rules: callbacks })
  const bus = new InMemoryServerEventBus()
  const modern = createMcpHandler(() => createServer(mailbox, 'modern', { subscriptions }), {
    legacy: 'reject',
    bus: watchedBus(bus, mailbox),
    maxRequestBodySize: MAX_BODY_BYTES,
    onerror: (error) => mailbox.log('protocol.error', { error: error.name }),
  })
  const sessions = createHttpSessions(() => {
    const server = createServer(mailbox, 'legacy')
    return { server, resources: serveSubscriptions(server, mailbox) }
  })
  const answer = toNodeHandler(
    {
      fetch: async (received: Request) => {
        const request = await requestWithArguments(received)
        return (await isLegacyRequest(request)) ? sessions.handle(request) : modern.fetch(request)
      },
    },
    { maxRequestBodySize: MAX_BODY_BYTES, onerror: (error) => mailbox.log('http.error', { error: error.name }) },
  )
  const isRefused = createGuard(token)
  const server = createHttpServer((request, response) => {
    if (isRefused(request, response)) return
    if (request.url?.split('?')[0] !== PATH) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`nothing is here: the server is at ${PATH}\n`)
      return
    }
    void answer(request as IncomingMessage & { method: string; url: string }, response)
  })
  const base = await listenOnLoopback(server, port, '--http').catch((error: unknown) => {
    void subscriptions?.[Symbol.asyncDispose]()
    throw error
  })
  const url = `${base}${PATH}`
  mailbox.log('http.listening', { url })
  return {
    url,
    async [Symbol.asyncDispose]() {
      await subscriptions?.[Symbol.asyncDispose]()
      await modern.close()
      await sessions[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Watches for mail while a client of 2026-07-28 has a subscription. Each client is told only of the resources it asked for. */
function watchedBus(bus: InMemoryServerEventBus, mailbox: Mailbox): InMemoryServerEventBus {
  let watch: Disposable | undefined
  const subscribe = bus.subscribe.bind(bus)
  bus.subscribe = (listener) => {
    watch ??= mailbox.watcher.onEveryChange(() => {
      for (const uri of changingUris(mailbox)) bus.publish({ kind: 'resource_updated', uri })
    })
    const unsubscribe = subscribe(listener)
    return () => {
      unsubscribe()
      if (bus.listenerCount > 0) return
      watch?.[Symbol.dispose]()
      watch = undefined
    }
  }
  return bus
}
