/** Webhook subscriptions of the extension `io.modelcontextprotocol/events`, with a real receiver over HTTPS. */
import { randomBytes } from 'node:crypto'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { eventually } from '@svc/test/support/eventually.ts'
import { type Received, startReceiver, type WebhookReceiver } from '@svc/test/support/stand-ins/webhook-receiver.ts'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fields, overStdio, type TestClient, temporaryFolder } from './scene.ts'
import { type Stage, startStage } from './stage.ts'

const ANY = fromJsonSchema<Fields>({ type: 'object' })
const NAME = 'message.received'

let stage: Stage
let receiver: WebhookReceiver
beforeAll(async () => {
  stage = await startStage()
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

function ask({ client }: Pick<TestClient, 'client'>, method: string, params: Fields): Promise<Fields> {
  return client.request({ method, params: { name: NAME, ...params } }, ANY)
}

const bodyOf = ({ body }: Received): Fields => JSON.parse(body.toString('utf8'))

/** A path of the receiver that answers challenges, and answers deliveries with a status that the test may change. */
function callback(path: string): { url: string; status: number; deliveries(): Fields[]; all(): Received[] } {
  const face = {
    url: receiver.urlFor(path),
    status: 204,
    all: () => receiver.at(path),
    deliveries: () =>
      receiver
        .at(path)
        .map(bodyOf)
        .filter(({ type }) => type === undefined),
  }
  receiver.answer(path, (request, response) => {
    const { type, challenge } = bodyOf(request)
    if (type !== 'verification') return response.writeHead(face.status).end()
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ challenge }))
  })
  return face
}

const rules = (): Fields => ({ callbacks: { exemptTargets: new Set([receiver.host]) } })

test('a subscriber is challenged, then gets each message once, signed as Standard Webhooks', async () => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack, rules())
  const bob = await stage.agent()
  const secret = newSecret()
  const { url, all, deliveries } = callback('/signed?keep=%41&as=it-is')
  const delivery = { mode: 'webhook', url, secret }
  const subscribed = await ask(alice, 'events/subscribe', { delivery, cursor: null, ttlMs: 60_000 })
  expect(subscribed).toMatchObject({ truncated: false, deliveryStatus: { active: true, lastError: null } })
  expect(Date.parse(subscribed.refreshBefore)).toBeGreaterThan(Date.now())
  const { msg_id } = await bob.client.send({ to: alice.name, body: 'hello' })
  await eventually(() => deliveries().length === 1)
  expect(deliveries()[0]).toMatchObject({ name: NAME, data: { message: { message_id: msg_id, text: null } } })
  for (const { headers, body } of all()) {
    new Webhook(secret).verify(body.toString('utf8'), headers as Record<string, string>)
    expect(headers['x-mcp-subscription-id']).toBe(subscribed.id)
  }
  expect(all().at(-1)?.headers['webhook-id']).toBe(deliveries()[0]?.eventId)
  // The same call again refreshes: the same id, and no second challenge.
  const again = await ask(alice, 'events/subscribe', { delivery, cursor: null, ttlMs: 60_000 })
  expect(again.id).toBe(subscribed.id)
  expect(all()).toHaveLength(2)
  // Some clients send the mode in unsubscribe, too.
  await ask(alice, 'events/unsubscribe', { delivery: { mode: 'webhook', url } })
  await bob.client.send({ to: alice.name, body: 'nobody listens' }).catch(() => undefined)
  await expect(ask(alice, 'events/unsubscribe', { delivery: { url } })).rejects.toMatchObject({ code: -32_023 })
  expect(deliveries()).toHaveLength(1)
})

test('a failed delivery is repeated with the same id, and its subscription survives a restart', async () => {
  await using stack = new AsyncDisposableStack()
  const hook = callback('/again')
  const first = new AsyncDisposableStack()
  const alice = await stage.serve(first, { ...rules(), keyPath: stack.use(temporaryFolder()).path('key') })
  const bob = await stage.agent()
  const delivery = { mode: 'webhook', url: hook.url, secret: newSecret() }
  const { id } = await ask(alice, 'events/subscribe', { delivery })
  hook.status = 503
  const { msg_id } = await bob.client.send({ to: alice.name, body: 'hello' })
  await eventually(() => hook.deliveries().length === 1)
  await first.disposeAsync()
  hook.status = 204
  const again = await stage.serve(stack, { ...rules(), keyPath: alice.keyPath, register: alice.name })
  await eventually(() => hook.deliveries().length === 2, { timeoutMs: 30_000, what: 'the second attempt' })
  const [one, two] = hook.all().slice(1)
  expect(one?.headers['webhook-id']).toBe(two?.headers['webhook-id'])
  expect(hook.deliveries()[1]).toMatchObject({ data: { message: { message_id: msg_id } } })
  const refreshed = await ask(again, 'events/subscribe', { delivery })
  expect(refreshed).toMatchObject({ id, deliveryStatus: { active: true, lastError: null } })
})

test('410 gives this delivery up, and not the subscription', async () => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack, rules())
  const bob = await stage.agent()
  const carol = await stage.agent()
  const hook = callback('/gone')
  await ask(alice, 'events/subscribe', { delivery: { mode: 'webhook', url: hook.url, secret: newSecret() } })
  hook.status = 410
  await bob.client.send({ to: alice.name, body: 'one' })
  await eventually(() => hook.deliveries().length === 1)
  hook.status = 204
  const { msg_id } = await carol.client.send({ to: alice.name, body: 'two' })
  await eventually(() => hook.deliveries().length === 2)
  expect(hook.deliveries()[1]).toMatchObject({ data: { message: { message_id: msg_id } } })
})

test('a receiver that does not repeat the challenge gets nothing', async () => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack, rules())
  const url = receiver.urlFor('/no-challenge')
  const delivery = { mode: 'webhook', url, secret: newSecret() }
  receiver.answer('/no-challenge', (_, response) => response.writeHead(200).end('{"challenge":"another"}'))
  await expect(ask(alice, 'events/subscribe', { delivery })).rejects.toMatchObject({
    code: -32_027,
    data: { reason: 'challenge_failed' },
  })
  receiver.answer('/no-challenge', 302)
  await expect(ask(alice, 'events/subscribe', { delivery })).rejects.toMatchObject({ data: { reason: 'http_4xx' } })
  await expect(ask(alice, 'events/unsubscribe', { delivery: { url } })).rejects.toMatchObject({ code: -32_023 })
})

test.each([
  'http://receiver.example/',
  'https://127.0.0.1/',
  'https://[::1]/',
  'https://169.254.169.254/latest/meta-data',
  'https://0x7f000001/',
  'https://user:secret@receiver.example/',
  'https://receiver.example:8443/',
])('the callback %s is refused before anything is sent', async (url) => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack)
  const delivery = { mode: 'webhook', url, secret: newSecret() }
  await expect(ask(alice, 'events/subscribe', { delivery })).rejects.toMatchObject({ code: -32_602 })
})

test('a name with an address that is not public is refused, and so is a weak secret, or another mode', async () => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack, { callbacks: { resolve: async () => ['10.0.0.1'] } })
  const url = 'https://receiver.example/'
  const subscribe = (delivery: Fields): Promise<Fields> => ask(alice, 'events/subscribe', { delivery })
  await expect(subscribe({ mode: 'webhook', url, secret: newSecret() })).rejects.toMatchObject({ code: -32_027 })
  await expect(subscribe({ mode: 'webhook', url, secret: 'whsec_c2hvcnQ=' })).rejects.toMatchObject({ code: -32_602 })
  await expect(subscribe({ mode: 'queue', url, secret: newSecret() })).rejects.toMatchObject({ code: -32_026 })
})

test('over stdio a client has no principal: webhooks are not offered, and are refused', async () => {
  await using stack = new AsyncDisposableStack()
  const key = stack.use(temporaryFolder()).path('key')
  const args = ['--key', key, '--url', stage.url, '--register', 'no-principal']
  const alice = stack.use(await overStdio('stdio 2026', args))
  expect((await ask(alice, 'events/list', {})).events[0].delivery).toEqual(['poll', 'push'])
  const delivery = { mode: 'webhook', url: 'https://receiver.example/', secret: newSecret() }
  await expect(ask(alice, 'events/subscribe', { delivery })).rejects.toMatchObject({ code: -32_024 })
})
