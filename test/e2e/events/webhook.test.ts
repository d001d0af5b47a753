/** Webhooks over HTTP, through the whole system, to a receiver on loopback. */
import { createHmac } from 'node:crypto'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../../support/stand-ins/webhook-receiver.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

const SECRET = '0123456789abcdef0123456789abcdef'

let h: Harness
let receiver: WebhookReceiver
/** A superuser connection, to check state that no answer shows. */
let admin: postgres.Sql

beforeAll(async () => {
  receiver = await startReceiver()
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, webhook: 2, messaging: 2, gateway: 2 },
    env: {
      SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host,
      SVC_WEBHOOK_BACKOFF_SECONDS: '0,0.1,0.1,0.1,0.1',
      NODE_EXTRA_CA_CERTS: receiver.caFile,
      // The senders of each test are strangers to its receivers.
      SVC_DAILY_INTRODUCTIONS: '1000',
    },
  })
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

function setWebhook(agent: Agent, path: string, secret = SECRET): Promise<HttpAnswer> {
  return agent.put('/v2/webhook', { url: receiver.urlFor(path), secret })
}

async function openAgents<Count extends number>(count: Count) {
  const agents = await h.agents(count)
  for (const agent of agents as Agent[])
    expect((await agent.patch('/v2/me', { inbox_policy: 'open' })).status).toBe(200)
  return agents
}

function idsAt(path: string): unknown[] {
  return receiver.at(path).map(({ headers }) => headers['x-svc-message-id'])
}

/** Waits until this many deliveries have arrived and are settled. After that, no delivery of an earlier publication can follow. */
async function untilDelivered(agent: Agent, path: string, count: number): Promise<void> {
  await eventually(async () => {
    expect(receiver.at(path).length).toBeGreaterThanOrEqual(count)
    expect((await agent.get('/v2/webhook')).body).toMatchObject({ pending: 0 })
  })
}

describe('spec 12.1: PUT /v2/webhook, GET /v2/webhook, DELETE /v2/webhook', () => {
  test('spec 10.1: PUT and GET answer 200 with url, pending and failed, and never the secret', async () => {
    const [bob] = await h.agents(1)
    const state = { url: receiver.urlFor('/crud'), pending: 0, failed: 0 }
    const put = await setWebhook(bob, '/crud')
    expect([put.status, put.body]).toEqual([200, state])
    const got = await bob.get('/v2/webhook')
    expect([got.status, got.body]).toEqual([200, state])
    expect(got.text + put.text).not.toContain(SECRET)
  })

  test('spec 3.19, 10.1: DELETE answers deleted, then GET and DELETE are 404', async () => {
    const [bob] = await h.agents(1)
    expectError(await bob.get('/v2/webhook'), 404, 'not_found')
    expectError(await bob.call('DELETE', '/v2/webhook'), 404, 'not_found')
    await setWebhook(bob, '/crud')
    const deleted = await bob.call('DELETE', '/v2/webhook')
    expect([deleted.status, deleted.body]).toEqual([200, { status: 'deleted' }])
    expectError(await bob.get('/v2/webhook'), 404, 'not_found')
    expectError(await bob.call('DELETE', '/v2/webhook'), 404, 'not_found')
  })

  test('spec 3.19, 11.2: every PUT of a webhook costs 1 unit, also a repeated one; deleting is free', async () => {
    const [bob] = await h.agents(1)
    const used = async (): Promise<number> => (await bob.get('/v2/budget')).body.used_units
    await setWebhook(bob, '/crud')
    await setWebhook(bob, '/crud')
    expect(await used()).toBe(2)
    await bob.call('DELETE', '/v2/webhook')
    expectError(
      await bob.put('/v2/webhook', { url: 'http://example.com/', secret: SECRET }),
      400,
      'invalid_webhook_url',
    )
    expect(await used()).toBe(2)
  })

  test.each([
    [31, 400],
    [32, 200],
    [256, 200],
    [257, 400],
  ])('spec 11.7: webhook secret: %i code points: %i', async (length, status) => {
    const [bob] = await h.agents(1)
    const answer = await bob.put('/v2/webhook', { url: receiver.urlFor('/crud'), secret: '😀'.repeat(length) })
    if (status === 400) expectError(answer, 400, 'invalid_request')
    else expect(answer.status).toBe(200)
  })
})

describe('spec 10.5: the request', () => {
  test('X-SVC-Timestamp, X-SVC-Message-ID, X-SVC-Delivery-ID, X-SVC-Signature, over the exact bytes of the envelope', async () => {
    const [alice, bob] = await openAgents(2)
    await setWebhook(bob, '/headers')
    const envelope = alice.envelope(bob, { text: 'ü \u0000 "{', number: 1 })
    // Spelled differently from JSON.stringify, whose spelling is stored (spec 6.6).
    const sent = JSON.stringify(envelope).replace('"number":1', '"number": 1.0e0')
    expect((await alice.post('/v2/messages', sent)).status).toBe(202)
    await eventually(() => receiver.at('/headers').length > 0)
    const [request] = receiver.at('/headers')
    if (request === undefined) throw new Error('no delivery arrived')
    const { headers, body } = request
    expect(body.toString('utf8')).toBe(JSON.stringify(envelope))
    expect(verifyEnvelope(JSON.parse(body.toString('utf8')), alice.key.publicKey)).toBe(true)
    expect(headers['content-type']).toBe('application/json')
    expect(headers['x-svc-message-id']).toBe(envelope.id)
    expect(headers['x-svc-timestamp']).toMatch(/^\d{10}$/)
    expect(headers['x-svc-delivery-id']).toMatch(/^\S+$/)
    const signed = Buffer.concat([Buffer.from(`${headers['x-svc-timestamp']}.${envelope.id}.`), body])
    const hmac = createHmac('sha256', SECRET).update(signed).digest('hex')
    expect(headers['x-svc-signature']).toBe(`sha256=${hmac}`)
  })
})

describe('spec 10.4: jobs', () => {
  test('spec 7.7, 10.4: a request makes no job until it is promoted', async () => {
    const [alice, bob] = await h.agents(2)
    await setWebhook(bob, '/promoted')
    const envelope = alice.envelope(bob)
    expect((await alice.post('/v2/messages', envelope)).body).toMatchObject({ lane: 'requests' })
    const own = bob.envelope(bob, 'to myself')
    await bob.post('/v2/messages', own)
    await untilDelivered(bob, '/promoted', 1)
    expect(idsAt('/promoted')).toEqual([own.id])
    expect((await bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' })).status).toBe(200)
    await untilDelivered(bob, '/promoted', 2)
    expect(idsAt('/promoted')).toEqual([own.id, envelope.id])
  })

  test('spec 10.7, 11.7: webhook attempts: 5, then the job has failed, and the message is in the inbox', async () => {
    const [alice, bob] = await openAgents(2)
    receiver.answer('/failing', 500)
    await setWebhook(bob, '/failing')
    const { body } = await alice.send(bob)
    await eventually(async () => (await bob.get('/v2/webhook')).body.failed === 1)
    expect((await bob.get('/v2/webhook')).body).toMatchObject({ pending: 0, failed: 1 })
    expect(receiver.at('/failing')).toHaveLength(5)
    const { messages } = (await bob.get('/v2/inbox')).body
    expect(messages.map((message: { envelope: { id: string } }) => message.envelope.id)).toEqual([body.msg_id])
  })

  test('spec 5.11: the webhook of a revoked identity is deleted, and no pending delivery is sent', async () => {
    const [alice, bob] = await openAgents(2)
    const held: (() => void)[] = []
    receiver.answer('/revoked', (_request, response) => void held.push(() => response.writeHead(500).end()))
    await setWebhook(bob, '/revoked')
    await Promise.all(Array.from({ length: 5 }, () => alice.send(bob)))
    await eventually(() => held.length === 2)
    expect((await bob.post('/v2/me/revoke', { confirm_agent_id: bob.id })).status).toBe(200)
    // The revocation waits for the deletion only briefly, so the deletion may come later.
    const configured = () =>
      admin`select from webhook.endpoints where agent_id = ${bob.id} and configuration is not null`
    await eventually(async () => (await configured()).length === 0)
    for (const respond of held) respond()
    expectError(await alice.send(bob), 404, 'recipient_unavailable')
    expectError(await bob.get('/v2/webhook'), 401, 'signer_revoked')
    // Another agent's delivery, queued and finished since then, proves that the workers had time.
    const [carol] = await openAgents(1)
    await setWebhook(carol, '/carol')
    await carol.send(carol)
    await eventually(() => receiver.at('/carol').length > 0)
    expect(receiver.at('/revoked')).toHaveLength(2)
  })
})
