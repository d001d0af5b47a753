import { generateKey } from '@svc/sdk/keys.ts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { clientAddress, headers, stream, target } from './proxies.ts'

const PUBLIC = new URL('https://agents.example.org')
const LOCAL = new URL('http://127.0.0.1:8080')
const signer = { key: generateKey(), authority: 'agents.example.org' }
const { signal } = new AbortController()

afterEach(() => void vi.unstubAllGlobals())

/** Replaces the way to the service. */
function answerWith(answer: (headers: Headers, signal: AbortSignal | null | undefined) => Response): void {
  vi.stubGlobal('fetch', async (_url: string, init: RequestInit) => answer(new Headers(init.headers), init.signal))
}

const seenAs = (address: string): Response => new Response('{}', { headers: { 'x-svc-client-address': address } })
const error = (status: number, code: string): Response => Response.json({ error: { code } }, { status })

describe('spec 3.16: the address that requests count for', () => {
  test.each<[string, URL, (forwarded: string | null) => Response, string, RegExp]>([
    ['a public address', PUBLIC, () => seenAs('203.0.113.9'), 'ok', /203\.0\.113\.9/],
    ['this machine', LOCAL, () => seenAs('127.0.0.1'), 'ok', /127\.0\.0\.1/],
    ['a proxy', PUBLIC, () => seenAs('::ffff:10.0.0.2'), 'warning', /10\.0\.0\.2.*SVC_TRUSTED_PROXIES/],
    ['a proxy, in IPv6', PUBLIC, () => seenAs('fd00::2'), 'warning', /fd00::2/],
    ['invented by the client', PUBLIC, (forwarded) => seenAs(forwarded ?? '10.0.0.2'), 'failed', /X-Forwarded-For/],
    [
      'invented by a trusted machine',
      LOCAL,
      (forwarded) => seenAs(forwarded ?? '127.0.0.1'),
      'warning',
      /this machine/,
    ],
    ['an older service', PUBLIC, () => new Response('{}'), 'skipped', /does not say/],
  ])('%s', async (_, url, answer, result, says) => {
    answerWith((headers) => answer(headers.get('x-forwarded-for')))
    expect(await clientAddress(url, signal)).toEqual({ check: 'client', result, says: expect.stringMatching(says) })
  })
})

describe('spec 3.2: the headers of a signed request', () => {
  /** A service behind a proxy that treats headers in this way. Like the gateway, it takes a call without Authorization for anonymous. */
  const behind = (change: (headers: Headers) => void) => async (url: string, init: RequestInit) => {
    const sent = new Headers(init.headers)
    change(sent)
    const isAnonymous = !sent.has('authorization')
    if (isAnonymous && url.endsWith('/v2/health')) return Response.json({ status: 'ok' })
    if (isAnonymous || !sent.has('x-svc-timestamp') || !/^[0-9a-f]{32,}$/.test(sent.get('x-svc-nonce') ?? ''))
      return error(401, 'unauthenticated')
    return error(401, 'signer_unknown')
  }

  test.each<[string, (headers: Headers) => void, string, RegExp]>([
    ['arrive', () => {}, 'ok', /Authorization, X-SVC-Timestamp and X-SVC-Nonce arrive/],
    ['without Authorization', (sent) => sent.delete('authorization'), 'failed', /removes or changes Authorization,/],
    [
      'without X-SVC-Timestamp',
      (sent) => sent.delete('x-svc-timestamp'),
      'failed',
      /changes X-SVC-Timestamp or X-SVC-Nonce/,
    ],
    ['without X-SVC-Nonce', (sent) => sent.delete('x-svc-nonce'), 'failed', /changes X-SVC-Timestamp or X-SVC-Nonce/],
    ['with another X-SVC-Nonce', (sent) => sent.set('x-svc-nonce', '[removed]'), 'failed', /removes or changes/],
  ])('%s', async (_, change, result, says) => {
    vi.stubGlobal('fetch', behind(change))
    expect(await headers(PUBLIC, signer, signal)).toEqual({
      check: 'headers',
      result,
      says: expect.stringMatching(says),
    })
  })

  test.each<[string, () => Response, string, RegExp]>([
    [
      'are taken for a login by a proxy',
      () => new Response('<html>', { status: 401 }),
      'failed',
      /a proxy answers 401/,
    ],
    ['are refused by a proxy', () => new Response('<html>', { status: 403 }), 'failed', /a proxy answers 403/],
    ['are redirected', () => new Response('', { status: 302 }), 'failed', /a proxy answers 302/],
    ['get a page of a proxy', () => new Response('<html>log in</html>'), 'failed', /a proxy answers 200/],
    [
      'get an error of another API',
      () => Response.json({ error: { code: 403 } }, { status: 403 }),
      'failed',
      /a proxy answers 403/,
    ],
    ['meet a proxy without a service', () => new Response('<html>', { status: 502 }), 'skipped', /502/],
    ['of a registered agent', () => Response.json({ address: 'alice@agents.example.org' }), 'ok', /arrive/],
    ['are not judged by a service that is down', () => error(503, 'unavailable'), 'skipped', /unavailable/],
  ])('%s', async (_, answer, result, says) => {
    answerWith(answer)
    expect(await headers(PUBLIC, signer, signal)).toEqual({
      check: 'headers',
      result,
      says: expect.stringMatching(says),
    })
  })
})

describe('spec 3.3: a target with percent-encoding, empty segments and dots', () => {
  test.each<[string, () => Response, string, RegExp]>([
    ['arrives as it was signed', () => error(404, 'not_found'), 'ok', /as they are signed/],
    ['is changed', () => error(401, 'signature_invalid'), 'failed', /changes paths/],
    ['is redirected', () => new Response('', { status: 301 }), 'failed', /answers 301/],
    ['is refused by a proxy', () => new Response('<html>', { status: 400 }), 'failed', /answers 400/],
    ['is not judged', () => error(503, 'unavailable'), 'skipped', /unavailable/],
  ])('%s', async (_, answer, result, says) => {
    answerWith(answer)
    expect(await target(PUBLIC, signer, signal)).toEqual({ check: 'target', result, says: expect.stringMatching(says) })
  })
})

describe('spec 9.7: the first frame of a stream', () => {
  const frame = (headers: Record<string, string> = {}): Response => new Response('retry: 1000\n\n', { headers })
  test.each<[string, () => Response, string, RegExp]>([
    ['arrives', frame, 'ok', /at once/],
    ['is compressed', () => frame({ 'content-encoding': 'gzip' }), 'warning', /compresses.*gzip/],
    ['cannot arrive, because two streams are open', () => error(429, 'stream_limit'), 'skipped', /stream_limit/],
  ])('%s', async (_, answer, result, says) => {
    answerWith(answer)
    expect(await stream(PUBLIC, signer, signal)).toEqual({ check: 'stream', result, says: expect.stringMatching(says) })
  })

  test('is held back', async () => {
    vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(AbortSignal.abort(new Error('late')))
    vi.stubGlobal('fetch', async (_url: string, { signal: limit }: RequestInit) => {
      limit?.throwIfAborted()
    })
    expect(await stream(PUBLIC, signer, signal)).toMatchObject({
      result: 'warning',
      says: expect.stringMatching(/buffering/),
    })
  })
})
