/**
 * Clients that do not read their answers, and clients with many connections: their resources are bounded, and others
 * are served.
 */
import type { IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { createLogger } from '@svc/telemetry/logger.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { MAX_REQUESTS } from '../../src/config.ts'
import type { Answer } from '../../src/http/answer.ts'
import { createDocument } from '../../src/http/document.ts'
import { Load, Overloaded } from '../../src/http/load/load.ts'
import { Outflow, type OutflowOptions } from '../../src/http/load/outflow.ts'
import { createHttpApp } from '../../src/http-app.ts'
import { openRaw, type RawConnection } from '../support/harness.ts'
import { createGuards } from '../support/http-guards.ts'

const MEBIBYTE = 1024 * 1024
const MAX_REQUESTS_HERE = 400
const MANY = 200
const logger = createLogger('test', 'silent')
const TEXTS: Readonly<Record<string, string>> = { '/large': 'x'.repeat(MEBIBYTE), '/wide': '€'.repeat(MEBIBYTE / 3) }

let running = new AsyncDisposableStack()
afterEach(async () => {
  await running.disposeAsync()
  running = new AsyncDisposableStack()
})

interface Setting {
  readonly outflow?: Partial<OutflowOptions>
  readonly maxConnections?: number
  readonly maxConnectionsPerClient?: number
  readonly trustedProxies?: readonly string[]
}

/**
 * A server that answers `/stream` with more than the kernel buffers, `/small`, `/large`, `/wide` (three bytes per character) and `/document` at once, and `/waits` when
 * the test releases it.
 */
async function start({ outflow: limits, maxConnections = 1_000, ...connections }: Setting) {
  const maxRequests = MAX_REQUESTS_HERE
  const load = new Load({ logger, maxRequests })
  const guards = createGuards({ ...connections, load })
  const outflow = running.use(new Outflow({ maxRequests, ...limits }))
  const gate = Promise.withResolvers<void>()
  const document = createDocument({ text: 'd'.repeat(MEBIBYTE), type: 'text/plain' })
  const most = { bytes: 0 }
  let asked = 0
  let waiting = 0

  const app = createHttpApp({
    operations: [],
    pipeline: async ({ raw }) => {
      await guards.bodies.read(raw)
      asked += 1
      most.bytes = Math.max(most.bytes, outflow.bytes)
      return answerTo(raw)
    },
    load,
    outflow,
    ...guards,
    corsOrigins: [],
    logger,
    isDraining: () => false,
    limits: { maxConnections },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  running.defer(() => {
    gate.resolve()
    app.server.closeAllConnections()
    return app.close()
  })

  const open = (client: number): RawConnection =>
    running.adopt(openRaw(port, `127.0.2.${client}`), ({ socket }) => void socket.destroy())
  return {
    load,
    outflow,
    most,
    open,
    letGo: () => gate.resolve(),
    connections: () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count))),
    /** How many requests were received, and how many of them wait. */
    get asked() {
      return asked
    },
    get waiting() {
      return waiting
    },
    /**
     * Requests more than the kernel buffers on each of this many connections, and never reads. So one answer of each
     * connection waits in the process.
     */
    neverReads(client: number, target: string, connections: number, headers = ''): Socket[] {
      return Array.from({ length: connections }, () => {
        const connection = open(client)
        connection.socket.pause()
        connection.write(request(target, headers).repeat(10))
        return connection.socket
      })
    },
    /** The answer to a client that reads. */
    async ask(client: number, target: string): Promise<string> {
      const connection = open(client)
      connection.write(request(target, 'Connection: close\r\n'))
      const answer = await connection.ended
      return answer === '' ? 'closed' : `${answer.slice(9, 12)} ${answer.length > MEBIBYTE ? 'large' : 'small'}`
    },
  }

  async function answerTo({ url }: IncomingMessage): Promise<Answer> {
    if (url === '/document') return document.answer()
    if (url === '/stream') return { status: 200, text: '', stream: Readable.from([Buffer.alloc(12 * MEBIBYTE)]) }
    if (url === '/waits') {
      waiting += 1
      await gate.promise
    }
    return { status: 200, text: TEXTS[url ?? ''] ?? 'small' }
  }
}

const request = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`

/** Whether a connection is open and its requests are answered. */
async function answers(connection: RawConnection): Promise<boolean> {
  const before = connection.received.length
  connection.write(request('/small'))
  await eventually(() => connection.received.length > before || connection.socket.closed)
  return connection.received.length > before
}

describe('unread answers', () => {
  test('hold at most the limit of the process, and those to one address a quarter of it; other clients are answered', async () => {
    const maxBytes = 8 * MEBIBYTE
    const h = await start({ outflow: { maxBytes } })
    h.neverReads(1, '/large', 4)
    await eventually(async () => (await h.connections()) < 4 && h.outflow.bytes > 0)
    expect(h.outflow.bytes).toBeLessThanOrEqual(maxBytes / 4)
    for (let client = 2; client <= 12; client += 1) {
      h.neverReads(client, '/large', 1)
      expect(await h.ask(100, '/large')).toBe('200 large')
      expect(await h.ask(100, '/document')).toBe('200 large')
    }
    await eventually(() => h.most.bytes > maxBytes / 2)
    expect(h.most.bytes).toBeLessThanOrEqual(maxBytes)
  })

  test('count by their bytes in any alphabet', async () => {
    const h = await start({})
    h.neverReads(1, '/wide', 2)
    await eventually(() => h.outflow.answers === 2)
    expect(h.outflow.bytes / h.outflow.answers).toBeGreaterThan(MEBIBYTE * 0.99)
  })

  test('with shared documents hold only a slot each, at most a fifth of all slots for one address', async () => {
    const h = await start({ outflow: { maxRequests: 50 } })
    h.neverReads(1, '/document', 15)
    await eventually(async () => (await h.connections()) < 15)
    expect(h.outflow.answers).toBeLessThanOrEqual(10)
    expect(h.load.requests).toBe(h.outflow.answers)
    expect(h.outflow.bytes).toBeLessThan(MEBIBYTE)
    expect(await h.ask(2, '/document')).toBe('200 large')
  })

  test('behind a trusted proxy count for the client that the proxy names', async () => {
    const maxBytes = 8 * MEBIBYTE
    const h = await start({ outflow: { maxBytes }, trustedProxies: ['127.0.2.9'] })
    for (const client of [1, 2, 3]) h.neverReads(9, '/large', 1, `X-Forwarded-For: 192.0.2.${client}\r\n`)
    await eventually(() => h.outflow.bytes > maxBytes / 4)
    expect(await h.connections()).toBe(3)
  })

  test('behind a trusted proxy count as requests under way of the client that the proxy names', async () => {
    const h = await start({ trustedProxies: ['127.0.2.9'] })
    const slot = { kind: 'read', client: '192.0.2.1' } as const
    const sockets = h.neverReads(9, '/large', 2, `X-Forwarded-For: ${slot.client}\r\n`)
    await eventually(() => h.load.requests === 2 && h.outflow.answers === 2)
    const slow = h.load.requests
    for (let begun = slow; begun < MAX_REQUESTS_HERE / 2; begun += 1) h.load.beginRequest(slot)
    expect(() => h.load.beginRequest(slot)).toThrow(Overloaded)
    h.load.beginRequest({ ...slot, client: '192.0.2.2' })
    for (const socket of sockets) socket.destroy()
    await eventually(() => h.outflow.answers === 0)
    for (let begun = 0; begun < slow; begun += 1) h.load.beginRequest(slot)
    expect(() => h.load.beginRequest(slot)).toThrow(Overloaded)
  })

  test('that wait behind another answer arrive complete, for a client that pipelines many requests', async () => {
    const h = await start({ outflow: { maxRequests: MAX_REQUESTS } })
    const reading = h.open(1)
    reading.write(request('/waits') + request('/small').repeat(MANY - 1))
    await eventually(() => h.waiting === 1)
    h.letGo()
    await eventually(() => reading.socket.closed || reading.received.split('HTTP/1.1 200').length > MANY)
    expect(reading.socket.closed).toBe(false)
  })

  test('count as requests under way until their clients disconnect', async () => {
    const h = await start({})
    const sockets = [...h.neverReads(1, '/large', 2), ...h.neverReads(2, '/document', 2)]
    await eventually(() => h.load.requests >= 4)
    for (const socket of sockets) socket.destroy()
    await eventually(() => h.load.requests === 0)
    expect([h.outflow.answers, h.outflow.bytes]).toEqual([0, 0])
  })

  test('are cut off for a client that reads too slowly, and a client that reads gets all of them', async () => {
    const h = await start({ outflow: { patienceSeconds: 2 } })
    const dripping = h.open(1)
    dripping.socket.pause().removeAllListeners('data')
    const drip = setInterval(() => dripping.socket.read(100), 50)
    running.defer(() => clearInterval(drip))
    dripping.write(request('/document').repeat(8))
    const reading = h.open(1)
    reading.write(request('/document').repeat(8))
    await eventually(() => reading.received.length > 8 * MEBIBYTE)
    await eventually(() => h.outflow.answers === 0)
    expect(await answers(reading)).toBe(true)
  })
})

describe('event streams', () => {
  test('that have ended, and whose last bytes a client does not read, are closed', async () => {
    const h = await start({ outflow: { patienceSeconds: 2 } })
    for (const client of [1, 2]) {
      const connection = h.open(client)
      connection.socket.pause()
      connection.write(request('/stream'))
    }
    await eventually(() => h.outflow.bytes > 0)
    await eventually(async () => (await h.connections()) === 0)
    expect(h.outflow.bytes).toBe(0)
  })
})

describe('connections', () => {
  test('past the limit of their address, or of all together, make room for new ones if they are idle', async () => {
    const h = await start({ maxConnectionsPerClient: 2, maxConnections: 4 })
    const open = [h.open(1), h.open(1)]
    expect(await Promise.all(open.map(answers))).toEqual([true, true])
    expect(await h.ask(1, '/small')).toBe('200 small')
    await eventually(() => open.filter(({ socket }) => socket.closed).length === 1)
    const others = [h.open(2), h.open(3)]
    expect(await Promise.all(others.map(answers))).toEqual([true, true])
    expect(await h.ask(4, '/small')).toBe('200 small')
    expect(await Promise.all(others.map(answers))).toEqual([true, true])
  })

  test('of trusted proxies are not limited', async () => {
    const h = await start({ maxConnectionsPerClient: 2, trustedProxies: ['127.0.2.9'] })
    const connections = Array.from({ length: 6 }, () => h.open(9))
    expect(await Promise.all(connections.map(answers))).toEqual(connections.map(() => true))
  })
})
