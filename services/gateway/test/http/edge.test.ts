/** A gateway behind each proxy that this repository configures. docs/operating/proxies.md lists what a proxy must do. */
import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { openStream } from '@svc/contracts/stream.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { handle, serve } from '@svc/nats/serve.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { exchange, openRaw, parseAnswers } from '@svc/test/support/client/raw-http.ts'
import {
  EDGES,
  type EdgeName,
  type EdgeProxy,
  IPV6_HOST,
  startEdge,
  whyNot,
} from '@svc/test/support/engines/edge-proxy.ts'
import { takePorts } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { lacks } from '@svc/test/support/run/lacks.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { envelopeOf, type Harness, JSON_BODY, signatureOf, startHarness } from '../support/harness.ts'

const NAMES = Object.keys(EDGES) as EdgeName[]
/** Clients sign these as they send them. Proxies like to decode, merge and resolve them. */
const TARGETS = [
  '/v2/a%2Fb',
  '/v2//a',
  '//v2/agents',
  '/v2/a/../b',
  '/v2/./a',
  '/v2/a%2e%2e/%2E%2E/b',
  '/v2/%E2%82%AC/%61/%7e~',
  '/v2/a;b=c/',
  '/v2/agents?',
  '/v2/agents?limit=1&&after=%2F%2f+%20//../?x=?',
  "/v2/a!$&'()*,=:@",
  '/v2/a%20b%25c',
]
const CLIENT = '127.0.0.9'
const CLIENT_ADDRESS = 'x-svc-client-address'
const EVENTS = 20
/** Half of the time for which a proxy holds back a small event if Nagle's algorithm meets delayed acknowledgements. */
const HELD_BACK_MS = 100

/** The stream process of the harness: what a test emits goes to every open stream. */
async function startStreams(h: Harness, stack: AsyncDisposableStack) {
  const open: ServerResponse[] = []
  const server = createHttpServer((request, response) => {
    if (request.method === 'DELETE') {
      response.writeHead(204).end()
      for (const one of open) one.end()
      return
    }
    response.writeHead(200, { 'x-svc-earliest-cursor': '1', 'x-svc-latest-cursor': '1' })
    response.flushHeaders()
    open.push(response)
    response.once('close', () => open.splice(open.indexOf(response), 1))
  })
  const port = await listen(server, stack)
  const logger = createLogger('test', 'silent')
  const nats = stack.adopt(await connectNats({ url: h.nats.urlFor('stream'), name: 'stream', logger }), drainNats)
  const place = { address: `http://127.0.0.1:${port}`, ticket: 't'.repeat(43), silence_seconds: 60 }
  await serve({ nats, name: 'stream', version: '0.0.0', logger, endpoints: [handle(openStream, async () => place)] })
  return { open, emit: (text: string) => open.forEach((one) => void one.write(text)) }
}

interface Upstream {
  readonly port: number
  /** Request lines and headers that arrived. */
  readonly heads: string[]
  /** Requests that got no answer. */
  readonly killed: string[]
}

/** A gateway that dies: it reads a whole request for `/die`, and then closes the connection without an answer. */
async function startDying(stack: AsyncDisposableStack): Promise<Upstream> {
  const heads: string[] = []
  const killed: string[] = []
  const server = createServer((socket: Socket) => {
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end)
        text = text.slice(end + 4 + Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0))
        heads.push(head)
        if (!head.includes(' /die')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        else {
          killed.push(head.split(' ', 1)[0] ?? '')
          socket.destroy()
          return
        }
      }
    })
  })
  return { port: await listen(server, stack), heads, killed }
}

async function listen(server: Server, stack: AsyncDisposableStack): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

let h: Harness
let key: ReturnType<Harness['register']>
let streams: Awaited<ReturnType<typeof startStreams>>
const shared = new AsyncDisposableStack()

beforeAll(async () => {
  if (NAMES.every((name) => whyNot(name) !== undefined)) return
  h = shared.use(await startHarness({ SVC_TRUSTED_PROXIES: '127.0.0.1' }))
  key = h.register('alice')
  streams = await startStreams(h, shared)
})
afterAll(() => shared.disposeAsync())

describe.each(NAMES)('behind %s', (name) => {
  describe.skipIf(lacks(whyNot(name)))('spec 3.16', () => {
    let edge: EdgeProxy
    let failing: EdgeProxy
    let dying: Upstream
    const stack = new AsyncDisposableStack()

    beforeAll(async () => {
      dying = await startDying(stack)
      edge = stack.use(await startEdge(name, [h.port]))
      failing = stack.use(await startEdge(name, [dying.port]))
    })
    afterAll(() => stack.disposeAsync())

    test.each(TARGETS)('spec 3.3: the target %s arrives as it was signed', async (target) => {
      const answer = await exchange(edge.url, { target, headers: signatureOf(key, { target }) })
      // The gateway checks the signature before the path and the query.
      expect([undefined, 'not_found', 'invalid_request']).toContain(answer.body.error?.code)
      await exchange(failing.url, { target, headers: { host: 'agents.example.org:8443' } })
      const head = dying.heads.at(-1) ?? ''
      expect(head.split('\r\n')[0]).toBe(`GET ${target} HTTP/1.1`)
      expect(head).toMatch(/^host: agents\.example\.org:8443$/im)
    })

    test.each<[string, Record<string, string | string[]>]>([
      ['nothing', {}],
      ['an address', { 'X-Forwarded-For': '203.0.113.1' }],
      ['addresses in several lines', { 'X-Forwarded-For': ['203.0.113.1', '127.0.0.1, 203.0.113.2'] }],
      ['an empty line', { 'X-Forwarded-For': '' }],
      ['what is not an address', { 'X-Forwarded-For': 'unknown' }],
      ['another header', { Forwarded: 'for=203.0.113.1', 'X-Real-IP': '203.0.113.1', 'X-Client-IP': '203.0.113.1' }],
    ])('spec 3.16: a request counts for the address of its client, which sends %s', async (_, headers) => {
      const answer = await exchange(edge.url, { target: '/v2/health', headers, from: CLIENT })
      expect(answer).toMatchObject({ status: 200, body: { status: 'ok' } })
      expect(answer.headers.get(CLIENT_ADDRESS)).toBe(CLIENT)
    })

    test('spec 9.7: two streams, uncompressed, each event at once', async () => {
      const target = '/v2/stream'
      const stop = new AbortController()
      const opened = await Promise.all(
        [1, 2].map(() => {
          const headers = { ...signatureOf(key, { target }), 'accept-encoding': 'gzip, br, zstd' }
          return fetch(edge.url + target, { headers, signal: stop.signal })
        }),
      )
      for (const { status, headers } of opened) {
        expect(status).toBe(200)
        expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
        expect(headers.get('content-encoding')).toBeNull()
      }
      const readers = opened.map(({ body }) => body?.pipeThrough(new TextDecoderStream()).getReader())
      // The next event is emitted when both clients have the last one, so a proxy that waits for more waits for ever.
      const tookMs: number[] = []
      for (let at = 0; at < EVENTS; at += 1) {
        const event = `event: cursor\nid: ${at}\n\n`
        const beganMs = performance.now()
        streams.emit(event)
        for (const reader of readers) expect((await reader?.read())?.value).toBe(event)
        tookMs.push(performance.now() - beganMs)
      }
      // The fastest, because a busy machine delays some of them.
      expect(Math.min(...tookMs)).toBeLessThan(HELD_BACK_MS)
      stop.abort()
      await eventually(() => streams.open.length === 0) // the end of the client's connection reaches the stream process
    })

    test('spec 3.9: a body of 96 KiB arrives; a larger one is 413 body_too_large, and 413 whatever its size', async () => {
      const post = (bytes: number) => {
        const body = 'x'.repeat(bytes)
        const request = { method: 'POST', target: '/v2/messages', body }
        return exchange(edge.url, { ...request, headers: { ...JSON_BODY, ...signatureOf(key, request) } })
      }
      expect(await post(98_304)).toMatchObject({ status: 400, body: { error: { code: 'invalid_json' } } })
      expect(await post(98_305)).toMatchObject({ status: 413, body: { error: { code: 'body_too_large' } } })
      expect(await post(600_000)).toMatchObject({ status: 413, body: { error: { code: 'body_too_large' } } })
      expect(await post(4_000_000)).toMatchObject({ status: 413 })
    })

    test.each([true, false])('a body that arrives in pieces is read, with chunks: %s', async (isChunked) => {
      const request = { method: 'POST', target: '/v2/messages', body: envelopeOf(key) }
      const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${Buffer.byteLength(request.body)}`
      using raw = openRaw(edge.url)
      raw.socket.setNoDelay(true)
      raw.write(headOf('POST', request.target, { ...JSON_BODY, ...signatureOf(key, request) }, framing))
      for (const piece of request.body.match(/.{1,50}/gs) ?? []) {
        await new Promise(setImmediate)
        raw.write(isChunked ? `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n` : piece)
      }
      if (isChunked) raw.write('0\r\n\r\n')
      await eventually(() => parseAnswers(raw.received).length === 1 || /^0\r\n/m.test(raw.received))
      expect(raw.received).toMatch(/^HTTP\/1\.1 202 /)
    })

    test('Expect: 100-continue is answered, and the body arrives', async () => {
      const request = { method: 'POST', target: '/v2/messages', body: envelopeOf(key) }
      const framing = `Expect: 100-continue\r\nContent-Length: ${Buffer.byteLength(request.body)}`
      using raw = openRaw(edge.url)
      raw.write(headOf('POST', request.target, { ...JSON_BODY, ...signatureOf(key, request) }, framing))
      await eventually(() => raw.received.includes('HTTP/1.1 100 '))
      raw.write(request.body)
      await eventually(() => raw.received.includes('HTTP/1.1 202 '))
    })

    test("long headers arrive, and headers over the gateway's limit get its own error", async () => {
      const get = (bytes: number) =>
        exchange(edge.url, { target: '/v2/health', headers: { 'x-long': 'x'.repeat(bytes) } })
      expect(await get(14_000)).toMatchObject({ status: 200 })
      expect(await get(17_000)).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
    })

    describe('spec 3.7: a request is never sent twice', () => {
      const METHODS = ['GET', 'PUT', 'PATCH', 'DELETE', 'POST']
      test.each(METHODS)('%s, on a new connection to the gateway', async (method) => {
        dying.killed.length = 0
        const body = method === 'GET' ? undefined : '{}'
        const answer = await exchange(failing.url, { method, target: '/die', body })
        expect(answer.status).toBeGreaterThanOrEqual(502)
        expect(dying.killed).toEqual([method])
      })

      test.each(METHODS)('%s, on a connection that was used before', async (method) => {
        dying.killed.length = 0
        using raw = openRaw(failing.url)
        for (let count = 1; count <= 3; count += 1) {
          raw.write(headOf('GET', '/ok', {}, ''))
          await eventually(() => raw.received.match(/\r\n\r\nok/g)?.length === count)
        }
        const hasBody = method !== 'GET'
        raw.write(headOf(method, '/die', {}, hasBody ? 'Content-Length: 2' : '') + (hasBody ? '{}' : ''))
        // HAProxy closes the connection, as a gateway that dies would.
        await eventually(() => /HTTP\/1\.1 50[234] /.test(raw.received) || raw.socket.closed)
        expect(dying.killed).toEqual([method])
      })
    })

    // nginx cannot tell a refused connection from a lost answer.
    test.skipIf(EDGES[name].program.endsWith('nginx'))('a gateway that is down costs no request', async () => {
      await using half = await startEdge(name, [h.port, await takePorts()])
      for (let count = 0; count < 10; count += 1) {
        expect(await exchange(half.url, { target: '/v2/health' })).toMatchObject({ status: 200 })
      }
    })

    test.skipIf(!EDGES[name].hasTls)('a signed request over TLS and HTTP/2, by IPv6 outside of compose', async () => {
      const target = '/v2/a%2Fb//c'
      const url = new URL(edge.tlsUrl ?? '')
      // The network of compose has IPv4 only. The certificate is for 127.0.0.1.
      const host = name.startsWith('deploy/edge/') ? IPV6_HOST : url.hostname
      const session = connectHttp2(url, { ca: edge.ca, createConnection: () => tlsTo(host, url.port, edge.ca) })
      const stream = session.request({ ':path': target, ...signatureOf(key, { target }) })
      const [headers] = await once(stream, 'response')
      const text = (await stream.toArray()).join('')
      session.close()
      expect(headers[':status']).toBe(404)
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'not_found' } })
    })
  })
})

function tlsTo(host: string, port: string, ca: string): TLSSocket {
  return connectTls({ host, port: Number(port), ca, servername: 'localhost', ALPNProtocols: ['h2'] })
}

function headOf(method: string, target: string, headers: Record<string, string>, more: string): string {
  const lines = Object.entries({ Host: 'agents.test', ...headers }).map(([name, value]) => `${name}: ${value}`)
  return `${[`${method} ${target} HTTP/1.1`, ...lines, ...(more === '' ? [] : [more])].join('\r\n')}\r\n\r\n`
}
