/** Clients that take their time, against a server that gives them little of it. */
import type { AddressInfo } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBody } from '../src/body.ts'
import { createHttpApp } from '../src/http-app.ts'
import { openRaw } from './harness.ts'

const HEADERS_MS = 300
const REQUEST_MS = 600

let port: number
const app = createHttpApp({
  operations: [],
  pipeline: async ({ raw }) => {
    await readBody(raw)
    throw new ServiceError('not_found')
  },
  corsOrigins: [],
  logger: createLogger('test', 'silent'),
  isDraining: () => false,
  limits: { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: 50 },
})
beforeAll(async () => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterAll(() => app.close())

describe('slow clients are answered and let go', () => {
  test.each([
    ['nothing at all', ''],
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

  test('one that goes away in the middle of a body is no fault of ours', async () => {
    const connection = openRaw(port)
    connection.write('POST /v2/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
    connection.socket.end()
    expect(await connection.ended).toMatch(/^(HTTP\/1\.1 400 |$)/)
  })
})
