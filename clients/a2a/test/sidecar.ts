import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { Message, type Part, Role, type SendMessageRequest } from '@a2a-js/sdk'
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import { type ServeOptions, serveA2a } from '@svc/a2a/serve.ts'
import { type AgentKey, formatKey } from '@svc/sdk/keys.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { textPart } from './echo-agent.ts'

export interface Sidecar extends AsyncDisposable {
  readonly url: string
  readonly token: string
  readonly tokenFile: string
  readonly log: readonly { readonly event: string; readonly url?: string; readonly reason?: string }[]
  /** Stops it. The next one goes on with its state. */
  restart(): Promise<Sidecar>
}

/** Runs `svc a2a` in this process. */
export async function startSidecar(key: AgentKey, options: { url: string } & Partial<ServeOptions>): Promise<Sidecar> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-a2a-'))
  const keyPath = join(folder, 'key')
  writeFileSync(keyPath, `${formatKey(key)}\n`, { mode: 0o600 })
  const token = randomBytes(30).toString('base64url')
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 })
  const start = async (): Promise<Sidecar> => {
    const stop = new AbortController()
    const log: { event: string; url?: string; reason?: string }[] = []
    const stderr = new PassThrough()
    stderr.on('data', (chunk) => {
      for (const line of String(chunk).trim().split('\n')) log.push(JSON.parse(line))
    })
    const run = serveA2a(
      {
        keyPath,
        statePath: join(folder, 'state'),
        port: 0,
        tokenPath: join(folder, 'token'),
        waitSeconds: 30,
        ...options,
      },
      { stderr, signal: stop.signal },
    )
    let failure: unknown
    run.catch((error) => {
      failure = error
    })
    const listening = () => log.find(({ event }) => event === 'listening')
    await eventually(() => {
      if (failure !== undefined) throw failure
      return listening() !== undefined
    })
    const end = async (): Promise<void> => {
      stop.abort()
      await run.catch(() => undefined)
    }
    return {
      url: listening()?.url ?? '',
      token,
      tokenFile: join(folder, 'token'),
      log,
      async restart() {
        await end()
        return start()
      },
      async [Symbol.asyncDispose]() {
        await end()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  }
  return start()
}

/** The client of A2A's own SDK, as the guide makes it. */
export function connect(
  { url, token }: Pick<Sidecar, 'url' | 'token'>,
  name: string,
  binding = 'JSONRPC',
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init = {}) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${token}`)
    return fetch(input, { ...init, headers })
  }
  const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })]
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports,
    preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  return new ClientFactory(options).createFromUrl(`${url}/${name}/`)
}

/** A request to send a message. */
export function saying(
  what: string | readonly Part[],
  { id = randomBytes(9).toString('hex'), task = '', now = false }: { id?: string; task?: string; now?: boolean } = {},
): SendMessageRequest {
  const parts = typeof what === 'string' ? [textPart(what)] : [...what]
  const message = { ...Message.fromJSON({}), messageId: id, role: Role.ROLE_USER, taskId: task, parts }
  const configuration = {
    acceptedOutputModes: [],
    historyLength: undefined,
    returnImmediately: now,
    taskPushNotificationConfig: undefined,
  }
  return { tenant: '', message, configuration, metadata: undefined }
}
