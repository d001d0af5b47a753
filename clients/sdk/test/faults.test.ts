import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { AgentClient } from '@svc/sdk/client.ts'
import { AnswerError, NetworkError } from '@svc/sdk/errors.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { createAuthority } from '@svc/test/support/engines/certificates.ts'
import type { Fault } from '@svc/test/support/stand-ins/fault-proxy.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { clientOf, collect, registered, type Service, startService, waits } from './agents.ts'

const HTML = '<html>Bad Gateway</html>'

beforeEach(() => {
  waits.length = 0
})

function sends(service: Service) {
  return service.requests.filter(({ method, target }) => method === 'POST' && target === '/v2/messages')
}

describe('spec 13.2: each retry has a fresh nonce and signature, but the id and the exact envelope of the first request', () => {
  const faults: [string, Fault, { duplicate: boolean; requests: number }][] = [
    ['503', { kind: 'refuse', code: 'unavailable' }, { duplicate: false, requests: 2 }],
    [
      '429 rate_limited',
      { kind: 'refuse', code: 'rate_limited', retryAfterSeconds: 1 },
      { duplicate: false, requests: 2 },
    ],
    ["a proxy's 502", { kind: 'answer', status: 502, body: HTML }, { duplicate: false, requests: 2 }],
    ['a cut connection', { kind: 'cut' }, { duplicate: false, requests: 2 }],
    ['a lost answer', { kind: 'lose' }, { duplicate: true, requests: 2 }],
    ['a request that came twice', { kind: 'double' }, { duplicate: true, requests: 2 }],
  ]
  test.each(faults)('after %s', async (_, fault, expected) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet('POST /v2/messages', fault)
    expect(await alice.send({ to: alice.name, body: 'once' })).toMatchObject({ duplicate: expected.duplicate })
    const requests = sends(service)
    expect(requests).toHaveLength(expected.requests)
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1)
    expect(new Set(requests.map(({ headers }) => headers['x-svc-nonce'])).size).toBe(requests.length)
    expect(new Set(requests.map(({ headers }) => headers.authorization)).size).toBe(requests.length)
    expect(await alice.budget()).toMatchObject({ used_units: 1 })
  })

  test('a sealed envelope is not sealed again for a retry', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet('POST /v2/messages', { kind: 'cut' }, { kind: 'lose' })
    expect(await alice.send({ to: alice.name, body: 'once' }, { seal: true })).toMatchObject({ duplicate: true })
    expect(new Set(sends(service).map(({ body }) => body)).size).toBe(1)
  })

  test('a request that came twice may have taken effect, so a later refusal can prove it', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    await clientOf(service, { key: alice.key }).revoke(alice.key.agentId)
    service.meet('POST /v2/me/revoke', { kind: 'refuse', code: 'nonce_replayed' })
    expect(await alice.revoke(alice.key.agentId)).toEqual({ status: 'revoked' })
  })

  test('a stored envelope can be posted again by a later process', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const kept = JSON.stringify(await alice.compose({ to: alice.name, body: 'once' }))
    expect(await alice.post(JSON.parse(kept))).toMatchObject({ duplicate: false })
    expect(await clientOf(service, { key: alice.key }).post(JSON.parse(kept))).toMatchObject({ duplicate: true })
  })
})

test('nodejs/node#63785: no message can corrupt the reading of the next message', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const rest = '"id":"message-2","to":"alice@x","type":"event","ts":"2026-01-01T00:00:00Z","body":"two","sig":"s"'
  const spoiler = '{"ttl":1,"\\\\u00":"x","id":"x","to":"x","type":"x","ts":"x","body":"x","sig":"x"}'
  const state = '"lane":"inbox","created_at":1,"expires_at":2,"acked":false,"upvotes":0'
  const body = `{"messages":[
    {"envelope":{"from":"mallory",${rest.replace('"two"', spoiler)}},${state}},
    {"envelope":{"ttl":1,"\\u0066rom":"mallory",${rest}},${state}}
  ],"next_cursor":""}`
  service.meet('GET /v2/inbox', { kind: 'answer', status: 200, body })
  const messages = await collect(alice.inbox())
  expect(messages.map(({ envelope }) => envelope.from)).toEqual(['mallory', 'mallory'])
})

test('spec 2.5: a body with the maximum number of levels can be read', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const body = JSON.parse(`${'['.repeat(63)}${']'.repeat(63)}`)
  await alice.send({ to: alice.name, body })
  expect((await collect(alice.inbox())).map(({ envelope }) => 'body' in envelope && envelope.body)).toEqual([body])
  expect(
    (await collect(alice.events())).map(({ message: { envelope } }) => 'body' in envelope && envelope.body),
  ).toEqual([body])
})

test('waits at least for Retry-After, and its own waits grow', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  waits.length = 0
  const limited = { kind: 'refuse', code: 'rate_limited', retryAfterSeconds: 3 } as const
  const cut = { kind: 'cut' } as const
  service.meet('GET /v2/me', limited, cut, cut, cut)
  await alice.me()
  expect(waits).toHaveLength(4)
  expect(waits[0]).toBeGreaterThanOrEqual(3_000)
  expect(waits[3]).toBeGreaterThan(waits[1] ?? 0)
})

test.each([429, 502, 503, 504])(
  "spec 13.2: the Retry-After of a proxy's %i counts, unless it is longer than the caller waits",
  async (status) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    waits.length = 0
    const page = (wait: string): Fault => ({ kind: 'answer', status, body: HTML, headers: { 'retry-after': wait } })
    service.meet('GET /v2/me', page('20'))
    await alice.me()
    expect(waits).toEqual([expect.closeTo(20_500, -3)])
    const seen = service.requests.length
    service.meet('GET /v2/me', page('3600'))
    await expect(alice.me()).rejects.toMatchObject({ name: 'AnswerError', status, retryAfterSeconds: 3_600 })
    expect(service.requests).toHaveLength(seen + 1)
  },
)

test('spec 13.2: the Retry-After of an answer that breaks counts', async () => {
  const broken: typeof fetch = async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    return new Response(body, { status: 503, headers: { 'retry-after': '20' } })
  }
  waits.length = 0
  const client = clientOf({ url: 'http://127.0.0.1:9' }, { fetch: broken, retry: { attempts: 2 } })
  await expect(client.manifest()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 20 })
  expect(waits[0]).toBeGreaterThanOrEqual(20_000)
})

test('gives up after a bounded number of requests', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  service.meet('GET /v2/me', ...Array.from({ length: 20 }, () => ({ kind: 'refuse', code: 'unavailable' }) as const))
  const seen = service.requests.length
  await expect(alice.me()).rejects.toMatchObject({ code: 'unavailable' })
  expect(service.requests).toHaveLength(seen + 6)
  const once = clientOf(service, { key: alice.key, authority: service.authority, retry: { attempts: 1 } })
  await expect(once.me()).rejects.toMatchObject({ code: 'unavailable' })
  expect(service.requests).toHaveLength(seen + 7)
})

describe('spec 13.3: the clock', () => {
  const HOUR = 3_600_000
  const NOW_SECONDS = (): number => Date.now() / 1_000

  test('is not corrected by the Date of any other answer', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const headers = { date: new Date(Date.now() + HOUR).toUTCString() }
    const warnings: string[] = []
    const client = clientOf(service, { key: alice.key, warn: (message) => warnings.push(message) })
    const body = JSON.stringify(await alice.me())
    const error = '{"error":{"code":"unavailable","message":"x"}}'
    service.meet('GET /v2/me', { kind: 'answer', status: 200, body, headers })
    service.meet('GET /v2/budget', { kind: 'answer', status: 503, body: error, headers })
    service.meet('GET /v2/budget', { kind: 'answer', status: 502, body: HTML, headers })
    await client.me()
    await client.budget()
    const signedAt = service.requests
      .slice(1)
      .map((request) => Number(request.headers['x-svc-timestamp'] ?? NOW_SECONDS()))
    for (const seconds of signedAt) expect(Math.abs(seconds - NOW_SECONDS())).toBeLessThan(60)
    expect(warnings).toEqual([])
  })

  test('is corrected by a refusal of the first request, and the envelope is composed again', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const { authority } = service
    const options = { key: alice.key, authority, name: alice.name, retry: { attempts: 1 } }
    const client = clientOf(service, options, () => Date.now() - HOUR)
    expect(await client.send({ to: alice.name, body: 1 })).toMatchObject({ duplicate: false })
    // One request with a wrong timestamp, one with a right timestamp and the old envelope, one with a new envelope.
    expect(sends(service)).toHaveLength(3)
  })

  test('is corrected only if the refusal shows another time; otherwise the refusal is thrown', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet(
      'GET /v2/me',
      ...Array.from({ length: 5 }, () => ({ kind: 'refuse', code: 'timestamp_out_of_range' }) as const),
    )
    const seen = service.requests.length
    await expect(alice.me()).rejects.toMatchObject({ code: 'timestamp_out_of_range' })
    expect(service.requests).toHaveLength(seen + 1)
  })

  test('an old envelope of the caller is not composed again', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const old = clientOf(
      service,
      { key: alice.key, authority: service.authority, name: alice.name },
      () => Date.now() - HOUR,
    )
    const envelope = await old.compose({ to: alice.name, body: 1 })
    await expect(alice.post(envelope)).rejects.toMatchObject({ code: 'envelope_timestamp_out_of_range' })
  })
})

describe('no answer', () => {
  test('because no process listens on the port', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const error = await clientOf({ url: `http://127.0.0.1:${port}` })
      .health()
      .catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject({
      message: expect.stringMatching(`^no answer from http://127.0.0.1:${port}: .*ECONNREFUSED`),
    })
    expect(waits).toHaveLength(5)
  })

  test.each([
    ['https', 'http', (port: number) => `the server does not speak TLS at this port: use http://127.0.0.1:${port}`],
    ['http', 'https', (port: number) => `.*; if this port expects TLS, use https://127.0.0.1:${port}`],
  ])('because the URL says %s and the port speaks %s: the error says so', async (asked, spoken, says) => {
    const certificate = await (await createAuthority()).issue()
    const server = spoken === 'http' ? createHttpServer() : createTlsServer(certificate)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const { port } = server.address() as AddressInfo
      const url = `${asked}://127.0.0.1:${port}`
      await expect(clientOf({ url }).health()).rejects.toMatchObject({
        name: 'NetworkError',
        message: expect.stringMatching(`^no answer from ${url}: ${says(port)}$`),
      })
    } finally {
      server.close()
    }
  })

  test('for the authority of a signed call: it is retried as one call, not once per attempt of the signed call', async () => {
    const asked: string[] = []
    const nowhere: typeof fetch = async (input) => {
      asked.push(String(input))
      throw new TypeError('fetch failed')
    }
    const client = clientOf({ url: 'http://127.0.0.1:9' }, { key: generateKey(), fetch: nowhere })
    await expect(client.me()).rejects.toThrow(NetworkError)
    expect(asked).toHaveLength(6)
  })

  test('a timeout that no timer can have is a long one', async () => {
    await using service = await startService()
    expect(await clientOf(service, { timeoutMs: Number.POSITIVE_INFINITY }).health()).toMatchObject({ status: 'ok' })
  })

  test('before the timeout', async () => {
    await using service = await startService()
    service.meet('GET /v2/health', { kind: 'hang' })
    const client = clientOf(service, { timeoutMs: 50, retry: { attempts: 1 } })
    await expect(client.health()).rejects.toThrow('timed out')
  })

  test('because the caller aborts the request', async () => {
    await using service = await startService()
    service.meet('GET /v2/health', { kind: 'hang' })
    const reason = new Error('enough')
    const stop = new AbortController()
    const call = clientOf(service, { timeoutMs: 600_000 }).health({ signal: stop.signal })
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    expect(waits).toEqual([])
  })

  test('because the caller aborts the wait before a retry', async () => {
    await using service = await startService()
    service.meet('GET /v2/health', { kind: 'refuse', code: 'rate_limited', retryAfterSeconds: 20 })
    const reason = new Error('enough')
    const stop = new AbortController()
    const answered: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      setTimeout(() => stop.abort(reason), 20)
      return response
    }
    // With the platform's own timer.
    const call = new AgentClient({ url: service.url, fetch: answered }).health({ signal: stop.signal })
    await expect(call).rejects.toBe(reason)
    expect(service.requests).toHaveLength(1)
  })
})

describe('answers that are not of this API', () => {
  test.each([
    ['a page with 200', { kind: 'answer', status: 200, body: HTML }],
    ['a page with 404', { kind: 'answer', status: 404, body: HTML }],
    ['another shape', { kind: 'answer', status: 200, body: '{"agent":{}}' }],
    ['an error without a code', { kind: 'answer', status: 400, body: '{"error":{"message":"x"}}' }],
    ['an empty body', { kind: 'answer', status: 200, body: '' }],
  ] satisfies [string, Fault][])('%s', async (_, fault) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet('GET /v2/me', fault)
    const error = await alice.me().catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(AnswerError)
    expect(error).toMatchObject({ status: fault.kind === 'answer' ? fault.status : 0 })
  })

  test('an answer larger than the limit', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const body = JSON.stringify({ ...(await alice.me()), padding: 'x'.repeat(9 * 1024 * 1024) })
    service.meet('GET /v2/me', { kind: 'answer', status: 200, body })
    await expect(alice.me()).rejects.toThrow('the answer is larger than 8388608 bytes')
  })

  test.each([
    ['/v2/budget', 'the service itself'],
    ['https://elsewhere.example/v2/me?secret', 'the service itself, perhaps https://elsewhere.example'],
  ])('a redirect to %s is not followed, because the signature is for one target', async (location, said) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const seen = service.requests.length
    service.meet('GET /v2/me', { kind: 'answer', status: 307, body: '', headers: { location } })
    const expected = `GET /v2/me answered 307, but redirects are not followed: use the URL of ${said}`
    await expect(alice.me()).rejects.toMatchObject({ name: 'AnswerError', message: expected })
    expect(service.requests.slice(seen).map(({ target }) => target)).toEqual(['/v2/me'])
  })

  test.each([
    ['that hides redirects, as browsers do', { type: 'opaqueredirect', status: 0 }],
    ['that follows redirects all the same', { redirected: true }],
  ])('a redirect is seen with a fetch %s', async (_, fields) => {
    const answer = new Proxy(new Response('{}'), {
      get: (target, name) => ({ ...fields })[name as never] ?? Reflect.get(target, name, target),
    })
    const client = clientOf({ url: 'http://127.0.0.1:9' }, { fetch: async () => answer })
    await expect(client.manifest()).rejects.toThrow('redirects are not followed')
  })

  test('an unknown error code is passed on', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const body = JSON.stringify({ error: { code: 'not_invented_yet', message: 'x' } })
    service.meet('GET /v2/me', { kind: 'answer', status: 418, body })
    await expect(alice.me()).rejects.toMatchObject({ name: 'ApiError', status: 418, code: 'not_invented_yet' })
  })
})

/** The options of `fetch` that Cloudflare Workers, Deno, Bun and old Safari all have. */
const COMMON = ['method', 'headers', 'body', 'signal', 'redirect']

test('works with a fetch that throws at every option that some platform lacks, without AbortSignal.any and timeout', async () => {
  await using service = await startService()
  const missing = { any: AbortSignal.any, timeout: AbortSignal.timeout }
  Object.assign(AbortSignal, { any: undefined, timeout: undefined })
  using _ = { [Symbol.dispose]: () => void Object.assign(AbortSignal, missing) }
  const narrow: typeof fetch = async (url, init = {}) => {
    for (const name of Object.keys(init)) if (!COMMON.includes(name)) throw new TypeError(`${name} is not implemented`)
    if (init.redirect !== 'manual' && init.redirect !== 'follow') throw new TypeError('Invalid redirect value')
    return fetch(url, init)
  }
  const client = clientOf(service, { key: generateKey(), fetch: narrow })
  await client.register('alice')
  const { msg_id } = await client.send({ to: 'alice', body: 'hello' }, { signal: new AbortController().signal })
  const [event] = (await client.events().page()).items
  service.meet('GET /v2/stream', {
    kind: 'answer',
    status: 200,
    body: `event: message\ndata: ${JSON.stringify(event)}\n\n`,
  })
  for await (const { message } of client.stream({ signal: new AbortController().signal })) {
    expect(message.envelope.id).toBe(msg_id)
    break
  }
})
