import { createChannel } from '@svc/nats/channel.ts'
import { connectNats } from '@svc/nats/connect.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { startGateways } from '../../src/rates/gateways.ts'
import { type Harness, JSON_BODY, openRaw, startHarness } from '../support/harness.ts'

const SILENT = createLogger('test', 'silent')
const BURSTS = { SVC_RATE_PER_SECOND: '0.01', SVC_RATE_BURST: '4', SVC_REGISTRATION_RATE_PER_SECOND: '0.01' }

/** Statuses of requests that an address sends one after another. */
async function sendAll(h: Harness, targets: readonly string[], forwardedFor?: string): Promise<number[]> {
  const statuses: number[] = []
  for (const target of targets) {
    const registers = target === '/v2/challenges' || target === '/v2/agents/register'
    const { status } = await h.send({
      target,
      ...(registers
        ? { method: 'POST', body: JSON.stringify({ pubkey: formatPublicKey(createKeyPair().publicKey) }) }
        : {}),
      headers: { ...JSON_BODY, ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }) },
    })
    statuses.push(status)
  }
  return statuses
}

describe('spec 3.15: rate limits per client address', () => {
  test('past the burst a request is 429 rate_limited with Retry-After, before any other check', async () => {
    await using h = await startHarness(BURSTS)
    expect(await sendAll(h, ['/v2/health', '/v2/nowhere', '/v2/me', '/v2/health'])).toEqual([200, 404, 401, 200])
    const calls = h.calls.length
    const refused = [
      await h.send({ target: '/v2/health' }),
      await h.send({ target: '/v2/nowhere', headers: { authorization: 'junk' } }),
      await h.sendSigned(h.register('alice'), { target: '/v2/me' }),
    ]
    for (const answer of refused) {
      expect(answer).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(90)
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/)
    }
    expect(h.calls).toHaveLength(calls)
  })

  test('ADR 4: without NATS, a gateway that knew others decides alone', async () => {
    await using h = await startHarness(BURSTS)
    const known = (): unknown => h.log.findLast(({ msg }) => msg === 'gateways that share rates')?.gateways
    await using stack = new AsyncDisposableStack()
    const options = { url: h.nats.urlFor('gateway'), name: 'other', logger: SILENT }
    const other = stack.adopt(await connectNats(options), ({ connection }) => connection.close())
    stack.use(await startGateways(createChannel(other), SILENT))
    await eventually(() => known() === 2)
    await h.nats.kill()
    await eventually(() => known() === 1)
    expect(await sendAll(h, new Array(6).fill('/v2/nowhere'))).toEqual([404, 404, 404, 404, 429, 429])
  })

  test('an endless body is not read for a 429 either', async () => {
    await using h = await startHarness({ ...BURSTS, SVC_RATE_BURST: '1' })
    await sendAll(h, ['/v2/health'])
    const head = 'POST /v2/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n'
    expect(await h.sendRaw(head)).toMatch(/^HTTP\/1\.1 429 .*connection: close/is)
  })

  test('behind a trusted proxy each client has its own allowance, an IPv6 /64 counts as one client, and addresses that a client writes itself are ignored', async () => {
    await using h = await startHarness({
      ...BURSTS,
      SVC_RATE_BURST: '1',
      SVC_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8',
    })
    expect(await sendAll(h, ['/v2/health', '/v2/health'], '192.0.2.1')).toEqual([200, 429])
    expect(await sendAll(h, ['/v2/health'], '192.0.2.2, 10.1.2.3')).toEqual([200])
    expect(await sendAll(h, ['/v2/health'], '192.0.2.3, 192.0.2.2')).toEqual([429])
    expect(await sendAll(h, ['/v2/health', '/v2/health'], '2001:db8::1')).toEqual([200, 429])
    expect(await sendAll(h, ['/v2/health'], '2001:db8::ffff')).toEqual([429])
    expect(await sendAll(h, ['/v2/health'], '2001:db8:0:1::1')).toEqual([200])
    expect(await sendAll(h, ['/v2/health'])).toEqual([200]) // the proxy itself
  })

  describe('a request counts, whatever answers it', () => {
    const CLIENT = 'X-Forwarded-For: 192.0.2.9\r\n'
    const many = Array.from({ length: 300 }, (_, at) => `h${at}: v\r\n`).join('')
    const [line, host] = ['GET /v2/x HTTP/1.1\r\n', 'Host: x\r\n']

    test.each([
      ['a path that does not exist', `${line}${host}${CLIENT}\r\n`, 404],
      ['more headers than are accepted, the last of which names the client', `${line}${host}${many}${CLIENT}\r\n`, 400],
      ['no Host', `${line}${CLIENT}\r\n`, 400],
      ['two Hosts', `${line}${host}${host}${CLIENT}\r\n`, 400],
      [
        'a body that is declared too large',
        `POST /v2/x HTTP/1.1\r\n${host}${CLIENT}Content-Length: 99999999\r\n\r\n`,
        413,
      ],
      ['a method that no path has', `PURGE /v2/x HTTP/1.1\r\n${host}${CLIENT}\r\n`, 404],
      ['CONNECT', `CONNECT x:1 HTTP/1.1\r\n${host}${CLIENT}\r\n`, 404],
      ['OPTIONS', `OPTIONS /v2/x HTTP/1.1\r\n${host}${CLIENT}\r\n`, 404],
      ['an expectation', `${line}${host}${CLIENT}Expect: nothing\r\n\r\n`, 404],
      ['an upgrade', `${line}${host}${CLIENT}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n`, 404],
      ['a path that cannot be decoded', `GET /v2/%zz HTTP/1.1\r\n${host}${CLIENT}\r\n`, 404],
    ])('%s', async (_, bytes, status) => {
      await using h = await startHarness({ ...BURSTS, SVC_RATE_BURST: '2', SVC_TRUSTED_PROXIES: '127.0.0.1' })
      const connection = openRaw(h.port)
      connection.write(bytes)
      await eventually(() => connection.received.startsWith(`HTTP/1.1 ${status} `))
      connection.socket.destroy()
      expect(await sendAll(h, ['/v2/x', '/v2/x'], '192.0.2.9')).toEqual([404, 429])
      expect(await sendAll(h, ['/v2/x'], '192.0.2.8')).toEqual([404])
    })

    test.each([
      ['more headers than are accepted', `${line}${host}${many}\r\n`, 400],
      ['longer headers than are accepted', `${line}${host}a: ${'b'.repeat(100_000)}\r\n\r\n`, 400],
      ['what is not HTTP', 'GARBAGE\r\n\r\n', 400],
      ['another version of HTTP', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
      ['an unknown method', `HELLO /v2/x HTTP/1.1\r\n${host}\r\n`, 404],
      ['a body with a malformed length', `POST /v2/x HTTP/1.1\r\n${host}Content-Length: x\r\n\r\n`, 400],
      ['CONNECT', `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`, 404],
    ])('also without a proxy, and once: %s', async (_, bytes, status) => {
      await using h = await startHarness({ ...BURSTS, SVC_RATE_BURST: '2' })
      const answered = async (expected: number): Promise<void> => {
        const connection = openRaw(h.port)
        connection.write(bytes)
        await eventually(() => expect(connection.received.slice(0, 13)).toBe(`HTTP/1.1 ${expected} `))
        connection.socket.destroy()
      }
      await answered(status)
      expect(await sendAll(h, ['/v2/x', '/v2/x'])).toEqual([404, 429])
      await answered(429)
    })

    test('a request whose body turns out to be malformed counts once', async () => {
      await using h = await startHarness({ ...BURSTS, SVC_RATE_BURST: '2' })
      const connection = openRaw(h.port)
      connection.write(`POST /v2/x HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nx\r\n`)
      await eventually(() => connection.received.startsWith('HTTP/1.1 400 '))
      connection.socket.destroy()
      expect(await sendAll(h, ['/v2/x', '/v2/x'])).toEqual([404, 429])
    })
  })
})
