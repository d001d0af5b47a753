import { once } from 'node:events'
import { createServer } from 'node:http'
import { AGENT_CARD_PATH, AgentCard } from '@a2a-js/sdk'
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { createGuard, listenOnLoopback } from '@svc/mcp/transports/loopback.ts'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import type { ContactHandler } from './contact-handler.ts'

interface FaceOptions {
  readonly port: number
  readonly token: string
  /** The handler of a contact; undefined if there is no such contact. */
  readonly find: (name: string) => Promise<ContactHandler | undefined>
}

/** More than fits into messages, so that the sender gets an error of A2A. */
const MAX_BODY_BYTES = 8 * 1024 * 1024
const VERSION_HEADER = 'a2a-version'
const HINT = 'The URL ends with the name of a contact and a slash. To add a contact: svc contacts accept <name>'
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const INTERNAL_ERROR = -32603

/**
 * Serves A2A to clients on this machine, with one endpoint for each contact, below its name.
 * @returns `url` is `http://127.0.0.1:<port>`.
 */
export async function serveOverHttp({
  port,
  token,
  find,
}: FaceOptions): Promise<AsyncDisposable & { readonly url: string }> {
  const app = express().disable('x-powered-by')
  const routers = new WeakMap<ContactHandler, RequestHandler>()
  app.use('/:name', async (request, response, next) => {
    const { name } = request.params
    const handler = await find(name)
    if (handler === undefined) {
      response.status(404).json({ error: { message: `there is no contact ${name}. ${HINT}` } })
      return
    }
    const router = routers.get(handler) ?? routerOf(handler)
    routers.set(handler, router)
    router(request, response, next)
  })
  app.use((_request, response) => {
    response.status(404).json({ error: { message: HINT } })
  })
  app.use(explainError)
  const isRefused = createGuard(token)
  const server = createServer((request, response) => {
    if (isRefused(request, response)) return
    // The third number of a version does not matter, and the SDK compares it.
    const { [VERSION_HEADER]: version } = request.headers
    if (typeof version === 'string') request.headers[VERSION_HEADER] = version.replace(/^(\d+\.\d+)\.\d+$/, '$1')
    app(request, response)
  })
  const url = await listenOnLoopback(server, port, '--port')
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function routerOf(requestHandler: ContactHandler): RequestHandler {
  const router = express.Router()
  const userBuilder = UserBuilder.noAuthentication
  // The SDK's own handler writes security schemes in another form than A2A.
  router.get(`/${AGENT_CARD_PATH}`, async (_request, response) => {
    response.set('cache-control', 'private, max-age=10').json(AgentCard.toJSON(await requestHandler.getAgentCard()))
  })
  // The SDK's own parsers take at most 100 KB. They leave alone what is parsed.
  router.use(express.json({ limit: MAX_BODY_BYTES, strict: false, type: ['application/json', 'application/a2a+json'] }))
  router.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
  router.use('/rest', restHandler({ requestHandler, userBuilder }))
  return router
}

/** Answers failures that no other handler answers: a body that is too large or is not JSON, a bad path, a service that is away. */
const explainError: ErrorRequestHandler = (error: Error & { status?: number }, request, response, _next) => {
  const { status = 503, message } = error
  const code = status === 400 ? PARSE_ERROR : status === 413 ? INVALID_REQUEST : INTERNAL_ERROR
  response
    .status(status)
    .json(
      /^\/[^/]+\/rpc/.test(request.originalUrl)
        ? { jsonrpc: '2.0', id: null, error: { code, message } }
        : { error: { code: status, status: status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE', message, details: [] } },
    )
}
