import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, openRaw, startHarness } from '../support/harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

const errorOf = (status: number, code: string) => ({ status, body: { error: { code } } })

/** The parts of answers as they came over a connection. */
function parseRaw(received: string): { status: number; head: string; body: unknown }[] {
  return received.split(/(?=HTTP\/1\.1 \d{3} )/).map((answer) => {
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    return {
      status: Number(head.slice(9, 12)),
      head: head.toLowerCase(),
      body: body === '' ? undefined : JSON.parse(body),
    }
  })
}

// vectors.test.ts has what the specification says about paths, queries and bodies that an operation does not take.
describe('spec 3.11: unknown path or method is 404 not_found, however the router and the parser read it', () => {
  test.each([
    ['GET', '/v2/health#fragment'],
    ['GET', '/v2/%2e%2e/v2/health'],
    ['GET', '/v2/health\\'],
    ['GET', '/v2/agents/'],
    ['GET', `/v2/${'a'.repeat(12_000)}`],
    ['GET', `/v2/agents/${'a'.repeat(12_000)}`],
    ['HEAD', '/v2/health'],
    ['OPTIONS', '*'],
    ['QUERY', '/v2/health'],
  ])('%s %s', async (method, target) => {
    const answer = await h.send({ method, target })
    expect(answer.status).toBe(404)
    if (method !== 'HEAD') expect(answer.body).toMatchObject({ error: { code: 'not_found' } })
  })

  test('a body of any kind changes nothing', async () => {
    const request = { method: 'POST', target: '/v2/nowhere', body: '{', headers: { 'content-type': 'text/plain' } }
    expect(await h.send(request)).toMatchObject(errorOf(404, 'not_found'))
  })

  test('an Accept-Version header is ignored', async () => {
    expect(await h.send({ target: '/v2/health', headers: { 'accept-version': '9.9.9' } })).toMatchObject({
      status: 200,
    })
  })
})

describe('spec 3.9, 11.7: a whole request is at most 96 KiB', () => {
  test('Expect: 100-continue: the gateway asks for a body unless it is too long', async () => {
    const head = 'PATCH /v2/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n'
    expect(await h.sendRaw(`${head}Content-Length: 1000000\r\n\r\n`)).toMatch(/^HTTP\/1\.1 413 /)
    expect(await h.sendRaw(`${head}Content-Length: 2\r\n\r\n{}`)).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 401 /,
    )
  })

  test('an unknown expectation is ignored', async () => {
    const head = 'GET /v2/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: tea\r\n\r\n'
    expect(await h.sendRaw(head)).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('spec 3.9: an endless body is answered and not read further', async () => {
    const connection = openRaw(h.port)
    connection.write('PATCH /v2/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
    let sent = 0
    let closed = false
    void connection.ended.then(() => {
      closed = true
    })
    await eventually(() => {
      if (!closed && connection.socket.writableLength === 0) {
        for (let i = 0; i < 64; i += 1) connection.write(chunk)
        sent += 64 * 4096
      }
      return closed
    })
    expect(parseRaw(await connection.ended)).toMatchObject([errorOf(413, 'body_too_large')])
    // Only as much was sent as the buffers on both sides hold.
    expect(sent).toBeLessThan(32 * 1024 * 1024)
  })
})

describe('broken HTTP is answered in the shape of an error', () => {
  const overflow = `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`
  test.each([
    ['junk', 'junk\r\n\r\n', 400, 'invalid_request'],
    ['a TLS hello', Buffer.from('16030100a5010000a1030300', 'hex'), 400, 'invalid_request'],
    ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
    ['two Hosts', 'GET /v2/health HTTP/1.1\r\nConnection: close\r\nHost: x\r\nhOST: x\r\n\r\n', 400, 'invalid_request'],
    ['no Host', 'GET /v2/health HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n', 400, 'invalid_request'],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', 400, 'invalid_request'],
    ['headers over 16 KiB', overflow, 400, 'invalid_request'],
    ['a target over 16 KiB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 400, 'invalid_request'],
    ['a version that does not exist', 'GET /v2/health HTTP/9.9\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['a path with a space', 'GET /v2/he alth HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['a header whose name has a space', 'GET / HTTP/1.1\r\nHost: x\r\nx y: 1\r\n\r\n', 400, 'invalid_request'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost: x\r\nx : 1\r\n\r\n', 400, 'invalid_request'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nx: \0\r\n\r\n', 400, 'invalid_request'],
    ['a malformed length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n', 400, 'invalid_request'],
    ['a negative length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400, 'invalid_request'],
    ['a length with a sign', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n', 400, 'invalid_request'],
    [
      'a chunk that is longer than it says',
      'POST /v2/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx',
      400,
      'invalid_request',
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'a malformed chunk size',
      'POST /v2/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
      'invalid_request',
    ],
    ['a method that HTTP does not define', 'BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'not_found'],
    ['a method in lower case', 'get /v2/health HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'not_found'],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'not_found'],
  ])('%s', async (_, bytes, status, code) => {
    const received = await h.sendRaw(bytes)
    const answers = parseRaw(received)
    expect(answers).toMatchObject([errorOf(status, code)])
    expect(answers[0]?.head).toMatch(/x-request-id: [0-9a-f]{32}/)
    expect(answers[0]?.head).toMatch(/\r\ndate: /)
    expect(answers[0]?.head).toMatch(/connection: close/)
  })

  test('HTTP/1.0 needs no Host', async () => {
    expect(await h.sendRaw('GET /v2/health HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('requests that come together on one connection', () => {
  const get = (target: string, rest = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${rest}\r\n`

  test('a request that breaks the connection is answered after the earlier requests', async () => {
    const received = await h.sendRaw(`${get('/v2/health') + get('/v2/agents/nobody')}junk\r\n\r\n`)
    expect(parseRaw(received).map(({ status }) => status)).toEqual([200, 404, 400])
  })

  test('a CONNECT is also answered after the earlier requests', async () => {
    const received = await h.sendRaw(`${get('/v2/health')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(parseRaw(received).map(({ status }) => status)).toEqual([200, 404])
  })
})
