import { PassThrough } from 'node:stream'
import { AgentClient } from '@svc/sdk/client.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { type Service, startService, uniqueName } from '@svc/sdk/test/agents.ts'
import type { SharedKind } from '@svc/test/support/system/shared-system.ts'
import type { CallbackRules } from '../src/events/subscriptions/callback.ts'
import { createLog } from '../src/log.ts'
import type { Policy } from '../src/policy.ts'
import { openMailbox, type StartOptions } from '../src/startup/start.ts'
import { type HttpFace, serveOverHttp } from '../src/transports/http.ts'
import { overHttp, type TestClient, temporaryFolder, type Way } from './scene.ts'

export const TOKEN = 'a-token-of-thirty-two-characters!!'

export const DEFAULTS: Policy = {
  readOnly: false,
  contactsOnly: false,
  requireVerified: false,
  eventText: false,
  askStrangers: true,
  maxUnits: 10,
  maxDailyUnits: undefined,
}

interface ServedOptions extends Partial<Omit<StartOptions, 'policy'>> {
  readonly policy?: Partial<Policy>
  readonly way?: Way
  readonly canAsk?: boolean
  readonly callbacks?: CallbackRules
}

interface Served extends TestClient {
  readonly name: string
  readonly face: HttpFace
  readonly keyPath: string
  /** A path in the folder of the key. */
  path(name: string): string
  /** Everything that the server has logged. */
  log(): string
}

/** The shared system behind a proxy, and agents with MCP servers in this process. */
export interface Stage extends AsyncDisposable {
  readonly service: Service
  readonly url: string
  /** An agent with an MCP server over HTTP, and a client of the server. */
  serve(stack: AsyncDisposableStack, options?: ServedOptions): Promise<Served>
  /** An agent that uses the SDK. */
  agent(): Promise<{ name: string; client: AgentClient }>
}

export async function startStage(kind?: SharedKind): Promise<Stage> {
  const service = await startService(kind)
  const { url } = service
  return {
    service,
    url,
    async serve(stack, { policy, way = 'http 2026', canAsk, callbacks = {}, ...options } = {}) {
      const folder = stack.use(temporaryFolder())
      const keyPath = options.keyPath ?? folder.path('key')
      const name = options.register ?? uniqueName('mcp')
      const lines = new PassThrough()
      let logged = ''
      lines.on('data', (chunk: Buffer) => {
        logged += chunk.toString()
      })
      const start = { url, register: name, ...options, keyPath, policy: { ...DEFAULTS, ...policy } }
      const mailbox = stack.use(await openMailbox(start, createLog(lines)))
      const face = stack.use(await serveOverHttp(mailbox, { port: 0, token: TOKEN, callbacks }))
      const client = stack.use(await overHttp(way, face.url, TOKEN, canAsk === undefined ? {} : { canAsk }))
      return Object.assign(client, { name, face, keyPath, path: folder.path, log: () => logged })
    },
    async agent() {
      const name = uniqueName('mcp')
      const client = new AgentClient({ url, key: generateKey() })
      await client.register(name)
      return { name, client }
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}
