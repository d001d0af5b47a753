import { randomUUID } from 'node:crypto'
import {
  isInitializeRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'

/** Sessions of clients with a protocol version before 2026-07-28. These versions need a connection with state. */
interface HttpSessions extends AsyncDisposable {
  /** Answers a request: opens a session, or passes the request to the session that it names. */
  handle(request: Request): Promise<Response>
}

/** Beyond this number, the session that has been idle for longest is closed. */
const MAX_SESSIONS = 50

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: McpServer
  readonly resources: Disposable
}

/** @param build makes the server of a new session, and the resources that are disposed with it. */
export function createHttpSessions(build: () => { server: McpServer; resources: Disposable }): HttpSessions {
  const sessions = new Map<string, Session>()

  async function open(request: Request): Promise<Response> {
    const { server, resources } = build()
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, { transport, server, resources })
      },
    })
    transport.onclose = () => {
      resources[Symbol.dispose]()
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
    }
    await server.connect(transport)
    const response = await transport.handleRequest(request)
    if (transport.sessionId === undefined) await server.close()
    const [oldest] = sessions.values()
    if (sessions.size > MAX_SESSIONS) await oldest?.server.close()
    return response
  }

  return {
    async handle(request) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) {
        const isOpening = request.method === 'POST' && (await holdsInitialize(request.clone()))
        return isOpening ? open(request) : refusal(400, 'a session must begin with initialize')
      }
      const session = sessions.get(id)
      if (session === undefined) return refusal(404, 'there is no such session: begin a new one with initialize')
      // Keeps the map in the order of the last use.
      sessions.delete(id)
      sessions.set(id, session)
      return session.transport.handleRequest(request)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...sessions.values()].map(({ server }) => server.close()))
    },
  }
}

async function holdsInitialize(request: Request): Promise<boolean> {
  try {
    return isInitializeRequest(await request.json())
  } catch {
    // Not JSON: the transport refuses it.
    return false
  }
}

function refusal(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }, { status })
}
