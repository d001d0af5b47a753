import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, startHarness } from '../support/harness.ts'

const APP = 'https://app.example'
const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }

let h: Harness
beforeAll(async () => {
  h = await startHarness({ SVC_CORS_ORIGINS: `${APP}, http://localhost:3000` })
})
afterAll(() => h[Symbol.asyncDispose]())

describe('spec 3.18: browsers of configured origins', () => {
  test('a preflight is answered, for any path', async () => {
    for (const target of ['/v2/messages', '/v2/nowhere']) {
      const answer = await h.send({ method: 'OPTIONS', target, headers: { origin: APP, ...PREFLIGHT } })
      expect(answer).toMatchObject({
        status: 204,
        text: '',
        headers: {
          'access-control-allow-origin': APP,
          'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers': 'authorization, content-type, last-event-id, x-svc-nonce, x-svc-timestamp',
          'access-control-max-age': '7200',
          vary: 'origin',
        },
      })
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/)
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
    }
  })

  test.each([
    ['/v2/health', 200],
    ['/v2/me', 401],
    ['/v2/nowhere', 404],
  ])('the answer of %s may be read, with the headers that a client needs', async (target, status) => {
    expect(await h.send({ target, headers: { origin: APP } })).toMatchObject({
      status,
      headers: {
        'access-control-allow-origin': APP,
        'access-control-expose-headers': 'date, retry-after, x-request-id, x-svc-earliest-cursor, x-svc-latest-cursor',
        vary: 'origin',
      },
    })
  })

  test.each(['https://evil.example', 'http://app.example', 'null', `${APP}.evil.example`])(
    '%s gets no CORS headers',
    async (origin) => {
      const preflight = await h.send({ method: 'OPTIONS', target: '/v2/messages', headers: { origin, ...PREFLIGHT } })
      expect(preflight).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
      const answer = await h.send({ target: '/v2/health', headers: { origin } })
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
      expect(answer.headers).toMatchObject({ vary: 'origin' })
    },
  )

  test('spec 3.11: OPTIONS that is not a preflight is 404', async () => {
    expect(await h.send({ method: 'OPTIONS', target: '/v2/health', headers: { origin: APP } })).toMatchObject({
      status: 404,
    })
  })

  test('by default no origin is allowed', async () => {
    await using plain = await startHarness()
    const preflight = { method: 'OPTIONS', target: '/v2/messages', headers: { origin: APP, ...PREFLIGHT } }
    expect(await plain.send(preflight)).toMatchObject({ status: 404 })
    const { headers } = await plain.send({ target: '/v2/health', headers: { origin: APP } })
    expect(headers).not.toHaveProperty('access-control-allow-origin')
    expect(headers).not.toHaveProperty('vary')
  })
})
