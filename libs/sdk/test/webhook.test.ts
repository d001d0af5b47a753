import { ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { describe, expect, test } from 'vitest'
import { registered } from './agents.ts'
import { type FakeService, startFakeService } from './fake-service.ts'

const WEBHOOK = { url: 'https://alice.example/svc', secret: 's'.repeat(32) }
const STATE = { url: WEBHOOK.url, pending: 0, failed: 0 }

function requestsOf(service: FakeService, method: string): FakeService['requests'] {
  return service.requests.filter((request) => request.method === method && request.target === '/v2/webhook')
}

test('spec 10.1: set, look and delete, by signed requests', async () => {
  await using service = await startFakeService()
  const [alice] = await registered(service, 'alice')
  expect(await alice.setWebhook(WEBHOOK)).toMatchObject(STATE)
  expect(requestsOf(service, 'PUT').map(({ body }) => JSON.parse(body))).toEqual([WEBHOOK])
  expect(await alice.webhook()).toMatchObject(STATE)
  expect(await alice.deleteWebhook()).toMatchObject({ status: 'deleted' })
  await expect(alice.webhook()).rejects.toMatchObject({ code: 'not_found', status: 404 })
  expect(await alice.budget()).toMatchObject({ used_units: 1 })
})

test.each([
  ['set', 'invalid_webhook_url', 400],
  ['webhook', 'not_found', 404],
  ['delete', 'not_found', 404],
] as const)('what the service refuses is an ApiError: %s, %s', async (call, code, status) => {
  await using service = await startFakeService()
  const [alice] = await registered(service, 'alice')
  const calls = {
    set: () => alice.setWebhook({ ...WEBHOOK, url: 'http://alice.example/' }),
    webhook: () => alice.webhook(),
    delete: () => alice.deleteWebhook(),
  }
  const failure = await calls[call]().catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ApiError)
  expect(failure).toMatchObject({ code, status })
})

describe('spec 10.1, 11.2: every PUT cancels what is pending and costs a unit', () => {
  test.each([
    ['a lost answer', { kind: 'lose' }, NetworkError, 1],
    ['a cut connection', { kind: 'cut' }, NetworkError, 0],
    ['503', { kind: 'refuse', code: 'unavailable' }, ApiError, 0],
  ] as const)(
    'so after %s it is not repeated by itself, and what is set can be seen',
    async (_, fault, kind, units) => {
      await using service = await startFakeService()
      const [alice] = await registered(service, 'alice')
      service.meet('PUT /v2/webhook', fault)
      await expect(alice.setWebhook(WEBHOOK)).rejects.toBeInstanceOf(kind)
      expect(requestsOf(service, 'PUT')).toHaveLength(1)
      const state = await alice.webhook().catch((error: unknown) => error)
      expect(state).toMatchObject(units === 1 ? STATE : { code: 'not_found' })
      expect(await alice.budget()).toMatchObject({ used_units: units })
    },
  )

  test('what the rate limit held back was not done for certain, and is repeated', async () => {
    await using service = await startFakeService()
    const [alice] = await registered(service, 'alice')
    service.meet('PUT /v2/webhook', { kind: 'refuse', code: 'rate_limited', retryAfterSeconds: 1 })
    expect(await alice.setWebhook(WEBHOOK)).toMatchObject(STATE)
    expect(requestsOf(service, 'PUT')).toHaveLength(2)
  })
})

describe('spec 13.2: DELETE and GET are repeated', () => {
  test.each([
    ['a lost answer', { kind: 'lose' }],
    ['a cut connection', { kind: 'cut' }],
    ['503', { kind: 'refuse', code: 'unavailable' }],
    ['a request that came twice', { kind: 'double' }],
  ] as const)('after %s it is deleted', async (_, fault) => {
    await using service = await startFakeService()
    const [alice] = await registered(service, 'alice')
    await alice.setWebhook(WEBHOOK)
    service.meet('DELETE /v2/webhook', fault)
    // A proxy that sends it twice gives the second answer, and that is the service's own.
    const deleted = alice.deleteWebhook().catch((error: unknown) => error)
    expect(await deleted).toMatchObject(fault.kind === 'double' ? { code: 'not_found' } : { status: 'deleted' })
    await expect(alice.webhook()).rejects.toMatchObject({ code: 'not_found' })
  })

  test('each request has a nonce and a signature of its own', async () => {
    await using service = await startFakeService()
    const [alice] = await registered(service, 'alice')
    await alice.setWebhook(WEBHOOK)
    service.meet('GET /v2/webhook', { kind: 'cut' }, { kind: 'refuse', code: 'unavailable' })
    expect(await alice.webhook()).toMatchObject(STATE)
    const requests = requestsOf(service, 'GET')
    expect(requests).toHaveLength(3)
    expect(new Set(requests.map(({ headers }) => headers['x-svc-nonce'])).size).toBe(3)
    expect(new Set(requests.map(({ headers }) => headers.authorization)).size).toBe(3)
  })
})
