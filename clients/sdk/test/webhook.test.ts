import { ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { describe, expect, test } from 'vitest'
import { registered, type Service, startService } from './agents.ts'

const WEBHOOK = { url: 'https://alice.example/svc', secret: 's'.repeat(32) }
const STATE = { url: WEBHOOK.url, pending: 0, failed: 0 }

function requestsOf(service: Service, method: string): Service['requests'] {
  return service.requests.filter((request) => request.method === method && request.target === '/v2/webhook')
}

test('spec 10.1: a webhook is set, read and deleted with signed requests', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  expect(await alice.setWebhook(WEBHOOK)).toMatchObject(STATE)
  expect(requestsOf(service, 'PUT').map(({ body }) => JSON.parse(body))).toEqual([WEBHOOK])
  expect(await alice.webhook()).toMatchObject(STATE)
  expect(await alice.deleteWebhook()).toMatchObject({ status: 'deleted' })
  await expect(alice.webhook()).rejects.toMatchObject({ code: 'not_found', status: 404 })
  expect(await alice.budget()).toMatchObject({ used_units: 1 })
})

describe('spec 10.1, 11.2: every PUT cancels pending deliveries and costs one unit', () => {
  test.each([
    ['a lost answer', { kind: 'lose' }, NetworkError, 1],
    ['a cut connection', { kind: 'cut' }, NetworkError, 0],
    ['503', { kind: 'refuse', code: 'unavailable' }, ApiError, 0],
  ] as const)('so it is not retried after %s, and webhook() shows the state', async (_, fault, kind, units) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet('PUT /v2/webhook', fault)
    await expect(alice.setWebhook(WEBHOOK)).rejects.toBeInstanceOf(kind)
    expect(requestsOf(service, 'PUT')).toHaveLength(1)
    const state = await alice.webhook().catch((error: unknown) => error)
    expect(state).toMatchObject(units === 1 ? STATE : { code: 'not_found' })
    expect(await alice.budget()).toMatchObject({ used_units: units })
  })

  test('a PUT that the rate limit refused certainly did not take effect, so it is retried', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet('PUT /v2/webhook', { kind: 'refuse', code: 'rate_limited', retryAfterSeconds: 1 })
    expect(await alice.setWebhook(WEBHOOK)).toMatchObject(STATE)
    expect(requestsOf(service, 'PUT')).toHaveLength(2)
  })
})

describe('spec 13.2: DELETE and GET are retried', () => {
  test.each([
    ['a lost answer', { kind: 'lose' }],
    ['a cut connection', { kind: 'cut' }],
    ['503', { kind: 'refuse', code: 'unavailable' }],
    ['a request that came twice', { kind: 'double' }],
  ] as const)('after %s the webhook is deleted', async (_, fault) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    await alice.setWebhook(WEBHOOK)
    service.meet('DELETE /v2/webhook', fault)
    expect(await alice.deleteWebhook()).toMatchObject({ status: 'deleted' })
    await expect(alice.webhook()).rejects.toMatchObject({ code: 'not_found' })
  })
})
