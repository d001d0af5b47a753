/** Slow clients, and a server with short timeouts. */
import type { AddressInfo, Socket } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { anyCodePoint } from '@svc/test/support/any-text.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Load } from '../../src/http/load/load.ts'
import { Outflow } from '../../src/http/load/outflow.ts'
import { createHttpApp } from '../../src/http-app.ts'
import { openRaw } from '../support/harness.ts'
import { createGuards } from '../support/http-guards.ts'

const HEADERS_MS = 300
const REQUEST_MS = 600

let port: number
const load = new Load({ logger: createLogger('test', 'silent'), maxRequests: 10 })
const outflow = new Outflow({ maxRequests: 10 })
let counted = 0
const guards = {
  ...createGuards({ load }),
  count: () => {
    counted += 1
    return 0
  },
}
let gate = Promise.withResolvers<void>()
let waiting = 0
const app = createHttpApp({
  operations: [],
  pipeline: async ({ raw }) => {
    await guards.bodies.read(raw)
    if (raw.url === '/waits') {
      waiting += 1
      await gate.promise
      waiting -= 1
    }
    throw new ServiceError('not_found')
  },
  load,
  outflow,
  ...guards,
  corsOrigins: [],
  logger: createLogger('test', 'silent'),
  isDraining: () => false,
  limits: { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: 50 },
})
beforeAll(async () => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterAll(async () => {
  await app.close()
  outflow[Symbol.dispose]()
})

describe('slow clients are answered and disconnected', () => {
  test.each([
    ['half a request line', 'GET /v2/hea'],
    ['headers without an end', 'GET /v2/health HTTP/1.1\r\nHost: x\r\n'],
    ['half a body', 'POST /v2/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{'],
    ['chunks without an end', 'POST /v2/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'],
  ])('%s', async (_, bytes) => {
    const connection = openRaw(port)
    connection.write(bytes)
    const received = await connection.ended
    expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(received).toContain('{"error":{"code":"invalid_request","message":"the request did not arrive in time"}}')
  })

  test('a client that sends nothing is disconnected without an answer, because it could take that for the answer to its next request', async () => {
    expect(await openRaw(port).ended).toBe('')
  })

  test.each([
    ['a request', '', 'GET /v2/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['its second half', 'GET /v2/health HTTP/1.1\r\nHost: x\r\n', 'Connection: close\r\n\r\n'],
    ['the rest of a body', 'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\na', 'bc'],
  ])('%s that arrived in time, while this process was paused, is read', async (_, before, then) => {
    let received: string
    let sentMs: number
    do {
      const connection = openRaw(port)
      const beganMs = performance.now()
      await new Promise((resolve) => connection.socket.once('connect', resolve))
      if (before !== '') connection.write(before)
      await new Promise((resolve) => setTimeout(resolve, HEADERS_MS / 3))
      // After this, Node checks timers before sockets.
      await new Promise(setImmediate)
      connection.write(then)
      sentMs = performance.now() - beganMs
      const until = performance.now() + REQUEST_MS * 1.5
      while (performance.now() < until);
      received = await connection.ended
    } while (sentMs > HEADERS_MS) // the process was paused, and the rest came too late
    expect(received).toMatch(/^HTTP\/1\.1 404 /)
  })

  test('a client that disconnects in the middle of a body is not an error of the server', async () => {
    const connection = openRaw(port)
    connection.write('POST /v2/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
    connection.socket.end()
    expect(await connection.ended).toMatch(/^(HTTP\/1\.1 400 |$)/)
  })
})

describe('pipelined requests', () => {
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

  test('are read no further while they wait, and all of them are answered', async () => {
    const connection = openRaw(port)
    const many = 10_000
    connection.write(get('/waits') + get('/').repeat(many))
    let read = 0
    const accepted = new Promise<Socket>((resolve) => app.server.once('request', ({ socket }) => resolve(socket)))
    await eventually(async () => {
      const before = read
      read = (await accepted).bytesRead
      return read > 0 && read === before
    })
    expect(read).toBeLessThan(150_000)
    gate.resolve()
    gate = Promise.withResolvers()
    await eventually(() => connection.received.split('HTTP/1.1 404').length === many + 2)
    connection.socket.destroy()
  })

  test('whose connection is lost count, although they never begin', async () => {
    const connection = openRaw(port)
    connection.write(get('/waits') + get('/lost').repeat(3))
    await eventually(() => waiting === 1)
    const before = counted
    connection.socket.resetAndDestroy()
    gate.resolve()
    gate = Promise.withResolvers()
    await eventually(() => counted === before + 3)
  })
})

describe('the server keeps working, whatever arrives over a connection', () => {
  /** Valid and broken pieces of HTTP that a hostile client may combine. */
  const piece = fc.oneof(
    fc.constantFrom(
      'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n',
      'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /%zz HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n',
      'GET / HTTP/1.0\r\n',
      'Upgrade: h2c\r\nConnection: Upgrade\r\n',
      '\r\n\r\n',
      ' ',
    ),
    fc.string({ unit: anyCodePoint, maxLength: 40 }),
  )

  test('property: each answer has the shape of this API, or there is none', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
        const connection = openRaw(port)
        connection.write(Buffer.from(pieces.join(''), 'utf8'))
        connection.socket.end()
        for (const answer of (await connection.ended).split(/(?=HTTP\/1\.1 )/)) {
          if (answer === '' || answer === 'HTTP/1.1 100 Continue\r\n\r\n') continue
          expect(answer).toMatch(/^HTTP\/1\.1 4(00|04|13) .*\r\n\r\n\{"error":\{"code":"\w+","message":"[^"]+"\}\}$/s)
        }
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'junk',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx',
  ])('a connection that is reset after %j affects no other connection', async (bytes) => {
    for (let i = 0; i < 20; i += 1) {
      const connection = openRaw(port)
      connection.write(bytes)
      await new Promise((resolve) => setImmediate(resolve))
      connection.socket.resetAndDestroy()
      await connection.ended
    }
    const after = openRaw(port)
    after.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(await after.ended).toMatch(/^HTTP\/1\.1 404 /)
  })
})
