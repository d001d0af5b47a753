/** A webhook receiver on this machine, over HTTPS with its own certificate. It answers as a test tells it to. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, isIPv6, type Socket } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { generate } from 'selfsigned'
import { findTestRun } from '../engines/engines.ts'

export interface Received {
  /** `/alice` */
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The server name in the TLS handshake; false if there is none. */
  readonly servername: string | false
  readonly atMs: number
  /** The number of the connection. */
  readonly connection: number
}

/** The answer to a request: a status, or a function that writes the answer. */
type Respond = number | ((request: Received, response: ServerResponse) => unknown)

export interface WebhookReceiver extends AsyncDisposable {
  /** `127.0.0.1:12345` */
  readonly host: string
  readonly port: number
  /** The file with the certificate's authority, for NODE_EXTRA_CA_CERTS. */
  readonly caFile: string
  /** Key and certificate, for a test's other servers. */
  readonly credentials: { readonly key: string; readonly cert: string }
  /** Every request that was read to its end, in order of arrival. */
  readonly received: readonly Received[]
  /** The number of requests under way for a path. */
  inFlight(path: string): number
  maxInFlight(path: string): number
  connections(): number
  urlFor(path: string): string
  at(path: string): Received[]
  /** Sets the answer to requests for a path. Default: 204. */
  answer(path: string, respond: Respond): void
  /** Empties `received` and resets the answers. */
  forget(): void
}

const HOST = '127.0.0.1'

interface ReceiverOptions {
  /** Names and addresses in the certificate. */
  readonly names?: readonly string[]
  /** Whether this process trusts the authority. */
  readonly trusted?: boolean
  readonly keyType?: 'ec' | 'rsa'
  /** Folder for the authority's file. Default: the folder of the test run. */
  readonly folder?: string
  /** The address in its URLs. With the default, 127.0.0.1, it listens on that address only. */
  readonly address?: string
}

export async function startReceiver({
  names = ['localhost', 'receiver.test'],
  trusted = true,
  keyType = 'ec',
  folder: chosen,
  address = HOST,
}: ReceiverOptions = {}): Promise<WebhookReceiver> {
  const folder = chosen ?? (await findTestRun()).folder
  const certificate = await generate([{ name: 'commonName', value: `receiver ${randomBytes(4).toString('hex')}` }], {
    keyType,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [...names.map((value) => ({ type: 2 as const, value })), { type: 7 as const, ip: address }],
      },
    ],
  })
  mkdirSync(folder, { recursive: true })
  const caFile = join(folder, `ca-${randomBytes(6).toString('hex')}.pem`)
  writeFileSync(caFile, certificate.cert)
  if (trusted) setDefaultCACertificates([...getCACertificates('default'), certificate.cert])

  const received: Received[] = []
  const answers = new Map<string, Respond>()
  const inFlight = new Map<string, { now: number; most: number }>()
  const sockets = new WeakMap<Socket, number>()
  let connections = 0

  const server = createServer({ key: certificate.private, cert: certificate.cert }, (request, response) => {
    void take(request, response).catch(() => response.destroy())
  })
  server.on('secureConnection', (socket) => {
    connections += 1
    sockets.set(socket, connections)
  })
  server.on('tlsClientError', () => {})
  server.listen(0, address === HOST ? HOST : undefined)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { host, origin } = new URL(`https://${isIPv6(address) ? `[${address}]` : address}:${port}`)

  return {
    host,
    port,
    caFile,
    credentials: { key: certificate.private, cert: certificate.cert },
    received,
    inFlight: (path) => inFlight.get(path)?.now ?? 0,
    maxInFlight: (path) => inFlight.get(path)?.most ?? 0,
    connections: () => connections,
    urlFor: (path) => origin + path,
    at: (path) => received.filter((one) => one.path === path),
    answer: (path, respond) => void answers.set(path, respond),
    forget() {
      received.length = 0
      answers.clear()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const count = inFlight.get(path) ?? { now: 0, most: 0 }
    count.now += 1
    count.most = Math.max(count.most, count.now)
    inFlight.set(path, count)
    response.on('close', () => {
      count.now -= 1
    })
    const body = Buffer.concat(await request.toArray())
    const one: Received = {
      path,
      method: request.method ?? '',
      headers: request.headers,
      body,
      servername: (request.socket as TLSSocket).servername ?? false,
      atMs: Date.now(),
      connection: sockets.get(request.socket) ?? 0,
    }
    received.push(one)
    const respond = answers.get(path) ?? 204
    if (typeof respond === 'number') response.writeHead(respond).end()
    else await respond(one, response)
  }
}
