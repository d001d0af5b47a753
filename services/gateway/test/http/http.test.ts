import { eventually } from '@svc/test/support/eventually.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type Harness, JSON_BODY, openRaw, startHarness } from '../support/harness.ts'

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

describe('spec 3.14, 4.1: every answer', () => {
  test('the error has two members, and the body has nothing else', async () => {
    expect((await h.send({ target: '/v2/nowhere' })).text).toBe(
      '{"error":{"code":"not_found","message":"there is nothing here, or not for this caller"}}',
    )
  })
})

describe('spec 3.11: unknown path or method is 404 not_found', () => {
  test.each([
    ['GET', '/'],
    ['GET', ''],
    ['GET', '/v2'],
    ['GET', '/v2/health/'],
    ['GET', '//v2/health'],
    ['GET', '/v2//health'],
    ['GET', '/V2/health'],
    ['GET', '/v2/health#fragment'],
    ['GET', '/v2%2Fhealth'],
    ['GET', '/v2/./health'],
    ['GET', '/v2/%C3%28'],
    ['GET', '/v2/%'],
    ['GET', '/v1/health'],
    ['GET', '/v2/agents/../health'],
    ['GET', '/v2/%2e%2e/v2/health'],
    ['GET', '/v2/health%00'],
    ['GET', '/v2/health%20'],
    ['GET', '/v2/health;x=1'],
    ['GET', '/v2/health\\'],
    ['GET', '/openapi.json/'],
    ['GET', '/.well-known/'],
    ['GET', '/v2/agents/'],
    ['GET', `/v2/${'a'.repeat(12_000)}`],
    ['GET', `/v2/agents/${'a'.repeat(12_000)}`],
    ['POST', '/v2/health'],
    ['PUT', '/v2/health'],
    ['HEAD', '/v2/health'],
    ['OPTIONS', '/v2/health'],
    ['OPTIONS', '*'],
    ['TRACE', '/v2/health'],
    ['PROPFIND', '/v2/health'],
    ['QUERY', '/v2/health'],
    ['DELETE', '/v2/messages/message-1'],
    ['PATCH', '/v2/messages/message-1/vote'],
    ['POST', '/v2/webhook'],
  ])('%s %s', async (method, target) => {
    const answer = await h.send({ method, target: target === '' ? '/' : target })
    expect(answer.status).toBe(404)
    if (method !== 'HEAD') expect(answer.body).toMatchObject({ error: { code: 'not_found' } })
  })

  test('a body of any kind changes nothing', async () => {
    const request = { method: 'POST', target: '/v2/nowhere', body: '{', headers: { 'content-type': 'text/plain' } }
    expect(await h.send(request)).toMatchObject(errorOf(404, 'not_found'))
  })

  test.each([
    ['/v2/%68ealth', 200],
    ['/.well-known/agent%2Ejson', 200],
    ['/v2/health?', 200],
  ])('spec 3.11: a segment is decoded for routing: %s is %i', async (target, status) => {
    expect(await h.send({ target })).toMatchObject({ status })
  })

  test.each([
    '/v2/agents/Alice',
    '/v2/agents/al',
    `/v2/agents/${'a'.repeat(33)}`,
    '/v2/agents/_ab',
    '/v2/agents/-ab',
    '/v2/agents/a%20b',
    '/v2/agents/abc%00',
    '/v2/agents/%C3%A4bc',
    '/v2/agents/a.b',
    '/v2/agents/a@b',
    '/v2/agents/%2e%2e',
    '/v2/agents/alice%0A',
    '/v2/agents/a%2Fb',
    '/v2/messages/short',
    '/v2/messages/message%00',
    '/v2/messages/message%0A',
    '/v2/messages/with.a.dot',
    '/v2/messages/with%20space',
    '/v2/messages/board:absent',
    `/v2/messages/${'%C3%A4'.repeat(8)}`,
    `/v2/messages/${'m'.repeat(81)}`,
    `/v2/boards/${'b'.repeat(19)}`,
    `/v2/boards/${'b'.repeat(41)}`,
    `/v2/boards/${'B'.repeat(20)}`,
  ])('a malformed id in a path: %s', async (target) => {
    expect(await h.send({ target })).toMatchObject(errorOf(404, 'not_found'))
  })

  test('an Accept-Version header is ignored', async () => {
    expect(await h.send({ target: '/v2/health', headers: { 'accept-version': '9.9.9' } })).toMatchObject({
      status: 200,
    })
  })

  test.each(['/v2/health', '/v2/agents/nobody', '/openapi.json', '/.well-known/agent.json'])(
    'spec 3.12: an undeclared query parameter is 400 on %s too',
    async (target) => {
      expect(await h.send({ target: `${target}?x=1` })).toMatchObject(errorOf(400, 'invalid_request'))
    },
  )
})

describe('spec 3.10: a body for an operation without one', () => {
  test.each([
    ['GET', '/v2/me'],
    ['POST', '/v2/messages/message-1/ack'],
  ])('%s %s: an empty body is fine, even with a type; any other is 400 invalid_request', async (method, target) => {
    const alice = h.register('alice')
    const empty = { method, target, headers: { ...JSON_BODY, 'content-length': '0' } }
    expect(await h.sendSigned(alice, empty)).toMatchObject({ status: 200 })
    const chunked = { method, target, headers: { ...JSON_BODY, 'transfer-encoding': 'chunked' } }
    expect(await h.sendSigned(alice, chunked)).toMatchObject({ status: 200 })
    for (const body of ['{}', ' ', '{']) {
      for (const headers of [JSON_BODY, { 'content-type': 'text/plain' }]) {
        const request = { method, target, body, headers: { ...headers, 'content-length': String(body.length) } }
        expect(await h.sendSigned(alice, request)).toMatchObject(errorOf(400, 'invalid_request'))
      }
    }
  })
})

describe('spec 3.9, 11.7: a whole request is at most 96 KiB', () => {
  const signedPatch = (body: string, headers = {}): Promise<Answer> =>
    h.sendSigned(h.register('alice'), {
      method: 'PATCH',
      target: '/v2/me',
      headers: { ...JSON_BODY, ...headers },
      body,
    })

  test('the limit counts bytes, not characters', async () => {
    const answer = await signedPatch(`"${'€'.repeat(33_000)}"`)
    expect(answer).toMatchObject(errorOf(413, 'body_too_large'))
    expect(JSON.stringify(answer)).toContain('99002 bytes')
  })

  test.each([
    ['unsigned', 'PATCH /v2/me', ''],
    ['with a malformed Authorization', 'PATCH /v2/me', 'Authorization: junk\r\n'],
    ['on an unknown path', 'POST /v2/nowhere', ''],
    ['on a GET', 'GET /v2/health', ''],
    ['of another type', 'PATCH /v2/me', 'Content-Type: text/plain\r\n'],
  ])('413 comes before other faults, from the declared length alone: %s', async (_, line, header) => {
    // The second length exceeds a double.
    for (const length of ['98305', '99999999999999999']) {
      const answer = await h.sendRaw(`${line} HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${length}\r\n\r\n`)
      expect(parseRaw(answer)).toMatchObject([errorOf(413, 'body_too_large')])
      expect(answer).toMatch(/connection: close/i)
    }
  })

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

  test('an upgrade is ignored, and the request is answered', async () => {
    const head = 'GET /v2/health HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\n\r\n'
    expect(await h.sendRaw(head)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('requests that come together on one connection', () => {
  const get = (target: string, rest = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${rest}\r\n`

  test('are answered in their order', async () => {
    const received = await h.sendRaw(
      get('/v2/agents/nobody') + get('/v2/nowhere') + get('/openapi.json?x=1') + get('/v2/me', 'Connection: close\r\n'),
    )
    expect(parseRaw(received).map(({ status }) => status)).toEqual([404, 404, 400, 401])
  })

  test('a request that breaks the connection is answered after the earlier requests', async () => {
    const received = await h.sendRaw(`${get('/v2/health') + get('/v2/agents/nobody')}junk\r\n\r\n`)
    expect(parseRaw(received).map(({ status }) => status)).toEqual([200, 404, 400])
  })

  test('a CONNECT is also answered after the earlier requests', async () => {
    const received = await h.sendRaw(`${get('/v2/health')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(parseRaw(received).map(({ status }) => status)).toEqual([200, 404])
  })

  test('the connection stays usable after a completely read body, whatever the answer', async () => {
    const post = 'POST /v2/nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{}{}{'
    const received = await h.sendRaw(post + get('/v2/health', 'Connection: close\r\n'))
    expect(parseRaw(received).map(({ status }) => status)).toEqual([404, 200])
  })
})
