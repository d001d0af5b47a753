import { randomUUID } from 'node:crypto'
import {
  isInitializeRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'

/** Sessions of clients that speak a protocol version before 2026-07-28, which have a connection and a state. */
interface HttpSessions extends AsyncDisposable {
  /** Answers one request: opens a session, or passes it to the one that it names. */
  handle(request: Request): Promise<Response>
}

/** The session that was idle for the longest makes room. */
const MAX_SESSIONS = 50

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: McpServer
  readonly resources: Disposable
}

/** @param build makes the server of a new session, and what ends with it. */
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
        return isOpening ? open(request) : refusal(400, 'a session begins with initialize')
      }
      const session = sessions.get(id)
      if (session === undefined) return refusal(404, 'no such session: begin anew with initialize')
      // The last one used is the last one to go.
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
