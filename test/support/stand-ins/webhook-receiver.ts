/** A receiver of webhooks on loopback, over HTTPS with a certificate of its own, that answers as a test wants it to. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
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
  /** The name that TLS was asked for; false where it was asked for none. */
  readonly servername: string | false
  readonly atMs: number
  /** Connections are numbered. */
  readonly connection: number
}

/** What a request is answered: a status, or something of the test's own. */
type Respond = number | ((request: Received, response: ServerResponse) => unknown)

export interface WebhookReceiver extends AsyncDisposable {
  /** `127.0.0.1:12345` */
  readonly host: string
  readonly port: number
  /** The certificate's authority, for NODE_EXTRA_CA_CERTS. */
  readonly caFile: string
  /** Its key and certificate, for servers of the test's own. */
  readonly credentials: { readonly key: string; readonly cert: string }
  /** Every request that was read to its end, in the order of arrival. */
  readonly received: readonly Received[]
  /** Requests under way now, and most at once, for a path. */
  inFlight(path: string): number
  maxInFlight(path: string): number
  connections(): number
  urlFor(path: string): string
  at(path: string): Received[]
  /** From now on requests for a path are answered so; 204 where nothing was said. */
  answer(path: string, respond: Respond): void
  /** Empties `received`, and what was to be answered. */
  forget(): void
}

const HOST = '127.0.0.1'

interface ReceiverOptions {
  /** Names and addresses that the certificate is for. */
  readonly names?: readonly string[]
  /** Its authority is believed by this process. */
  readonly trusted?: boolean
  readonly keyType?: 'ec' | 'rsa'
  /** Where the file of the authority goes; the folder of the test run where nothing is said. */
  readonly folder?: string
}

export async function startReceiver({
  names = ['localhost', 'receiver.test'],
  trusted = true,
  keyType = 'ec',
  folder: chosen,
}: ReceiverOptions = {}): Promise<WebhookReceiver> {
  const folder = chosen ?? (await findTestRun()).folder
  const certificate = await generate([{ name: 'commonName', value: `receiver ${randomBytes(4).toString('hex')}` }], {
    keyType,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'subjectAltName',
        altNames: [...names.map((value) => ({ type: 2 as const, value })), { type: 7 as const, ip: HOST }],
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
  server.listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  return {
    host: `${HOST}:${port}`,
    port,
    caFile,
    credentials: { key: certificate.private, cert: certificate.cert },
    received,
    inFlight: (path) => inFlight.get(path)?.now ?? 0,
    maxInFlight: (path) => inFlight.get(path)?.most ?? 0,
    connections: () => connections,
    urlFor: (path) => `https://${HOST}:${port}${path}`,
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
