/** One machine: a proxy that speaks TLS, then the proxy of compose, then the gateway (docs/operating/proxies.md). */
import { exchange } from '@svc/test/support/client/raw-http.ts'
import { type EdgeName, startEdge, whyNot } from '@svc/test/support/engines/edge-proxy.ts'
import { lacks } from '@svc/test/support/run/lacks.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, signatureOf, startHarness } from '../support/harness.ts'

const INNER = 'deploy/compose/proxy/nginx.conf'
const OUTER: readonly EdgeName[] = ['deploy/edge/nginx.conf', 'deploy/edge/haproxy.cfg', 'deploy/edge/Caddyfile']
const BURST = 20
const INVENTED = [
  undefined,
  '203.0.113.1',
  '203.0.113.1, 127.0.0.1',
  ['203.0.113.1', '127.0.0.1, 203.0.113.2'],
  'unknown',
]

describe.each(OUTER)('%s before the proxy of compose', (name) => {
  const missing = whyNot(name) ?? whyNot(INNER)
  describe.skipIf(lacks(missing))('spec 3.16', () => {
    const stack = new AsyncDisposableStack()
    let h: Harness
    let url: string

    beforeAll(async () => {
      // compose.yaml trusts the inner proxy and the machine. Here both have this address.
      const env = { SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_RATE_PER_SECOND: '0.001', SVC_RATE_BURST: String(BURST) }
      h = stack.use(await startHarness(env))
      const inner = stack.use(await startEdge(INNER, [h.port]))
      url = stack.use(await startEdge(name, [Number(new URL(inner.url).port)])).url
    })
    afterAll(() => stack.disposeAsync())

    const ask = (from: string, invented: (typeof INVENTED)[number] = undefined) =>
      exchange(url, {
        target: '/v2/health',
        from,
        headers: invented === undefined ? {} : { 'X-Forwarded-For': invented },
      })

    test('spec 3.3: a target arrives as it was signed', async () => {
      const target = '/v2/a%2Fb//../c'
      const request = { target, headers: { ...signatureOf(h.register('alice'), { target }) }, from: '127.0.0.3' }
      expect(await exchange(url, request)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
    })

    test.each(INVENTED)('spec 3.16: a client that sends X-Forwarded-For %j counts by its own address', async (sent) => {
      const answer = await ask('127.0.0.4', sent)
      expect(answer.headers.get('x-svc-client-address')).toBe('127.0.0.4')
    })

    test('spec 3.15: a client that floods is refused, whatever address it invents, and others are not', async () => {
      const flood = await Promise.all(Array.from({ length: 2 * BURST }, () => ask('127.0.0.5')))
      expect(flood.filter(({ status }) => status === 429)).toHaveLength(BURST)
      for (const sent of INVENTED) expect((await ask('127.0.0.5', sent)).status).toBe(429)
      expect((await ask('127.0.0.6')).status).toBe(200)
      expect((await ask('127.0.0.6', '127.0.0.5')).status).toBe(200)
    })
  })
})
