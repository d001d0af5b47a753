/** Webhook subscriptions of the extension `io.modelcontextprotocol/events`, with a real receiver over HTTPS. */
import { randomBytes } from 'node:crypto'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { AgentClient } from '@svc/sdk/client.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { type Received, startReceiver, type WebhookReceiver } from '@svc/test/support/stand-ins/webhook-receiver.ts'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Times } from '../src/events/subscriptions/times.ts'
import { readStatus } from '../src/status.ts'
import { readKeyFile } from '../src/store/key-file.ts'
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

const rules = (times?: Times): Fields => ({
  callbacks: { exemptTargets: new Set([receiver.host]), ...(times === undefined ? {} : { times }) },
})

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** Longer than a quiet subscription waits for news, so that a delivery does not depend on a wake-up. */
const QUIET = 16 * SECOND

/** A clock that stands still until the test moves it. It begins at a full second, so timestamps show each step exactly. */
class Clock implements Times {
  readonly lookMs = 20
  #nowMs = Math.floor(Date.now() / SECOND) * SECOND
  #reads = 0

  nowMs(): number {
    this.#reads += 1
    return this.#nowMs
  }

  move(ms: number): void {
    this.#nowMs += ms
  }

  /** Waits for ten looks of the deliveries, long enough for a delivery that a look has started too early. */
  async looks(): Promise<void> {
    const before = this.#reads
    // A look reads the clock for the list, and then once for each subscription.
    await eventually(() => this.#reads >= before + 20)
  }
}

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

describe('with a clock that the test moves', () => {
  interface Scene {
    readonly clock: Clock
    readonly alice: Awaited<ReturnType<Stage['serve']>>
    readonly hook: ReturnType<typeof callback>
    /** Begins or refreshes the subscription. */
    subscribe(secret?: string): Promise<Fields>
    /** Waits until this many deliveries have failed, and the next attempt is planned. */
    failures(count: number): Promise<unknown>
    /** Each sender is new, because a stranger may send only one request. @returns the id of the message. */
    send(body: string): Promise<string>
  }

  async function startScene(stack: AsyncDisposableStack, path: string, ttlMs = 24 * HOUR): Promise<Scene> {
    const clock = new Clock()
    const alice = await stage.serve(stack, rules(clock))
    const hook = callback(path)
    const first = newSecret()
    return {
      clock,
      alice,
      hook,
      subscribe: (secret = first) =>
        ask(alice, 'events/subscribe', { delivery: { mode: 'webhook', url: hook.url, secret }, ttlMs }),
      failures: (count) => eventually(() => alice.log().split('"delivery.failed"').length === count + 1),
      async send(body) {
        const { client } = await stage.agent()
        return (await client.send({ to: alice.name, body })).msg_id
      },
    }
  }

  const messageOf = (body: Fields | undefined): string | undefined => body?.data?.message.message_id

  test.each([
    ['as long as was asked for', 5 * MINUTE, 5 * MINUTE],
    ['a minute at least', 1, MINUTE],
    ['a day at most', 1_000 * HOUR, 24 * HOUR],
  ])('a subscription lasts %s, and then ends', async (_, asked, lasts) => {
    await using stack = new AsyncDisposableStack()
    const { clock, hook, subscribe, send } = await startScene(stack, `/ttl-${lasts}`, asked)
    const { refreshBefore } = await subscribe()
    expect(Date.parse(refreshBefore) - clock.nowMs()).toBe(lasts)
    const sent = await send('in time')
    clock.move(lasts - 1)
    await eventually(() => hook.deliveries().length === 1)
    clock.move(1)
    await send('too late')
    await clock.looks()
    // The next subscription is a new one: it is challenged, and begins with what arrives after it.
    await subscribe()
    const next = await send('again')
    clock.move(QUIET)
    await eventually(() => hook.deliveries().length === 2)
    expect(hook.deliveries().map(messageOf)).toEqual([sent, next])
    expect(hook.all().map((one) => bodyOf(one).type)).toEqual(['verification', undefined, 'verification', undefined])
  })

  test('a new secret signs beside the old one for ten minutes, and then alone', async () => {
    await using stack = new AsyncDisposableStack()
    const { clock, hook, subscribe, send } = await startScene(stack, '/rotation')
    const [before, after] = [newSecret(), newSecret()]
    const { id } = await subscribe(before)
    const signers = async (body: string): Promise<string[]> => {
      const count = hook.deliveries().length
      await send(body)
      clock.move(QUIET)
      await eventually(() => hook.deliveries().length === count + 1)
      const { headers, body: text } = hook.all().at(-1) as Received
      const time = new Date(Number(headers['webhook-timestamp']) * SECOND)
      const given = String(headers['webhook-signature']).split(' ')
      return given.map((signature) => {
        const isOf = (secret: string): boolean =>
          new Webhook(secret).sign(String(headers['webhook-id']), time, text.toString('utf8')) === signature
        return isOf(before) ? 'before' : isOf(after) ? 'after' : 'unknown'
      })
    }
    expect(await signers('one secret')).toEqual(['before'])
    expect(await subscribe(after)).toMatchObject({ id })
    expect(await signers('both')).toEqual(['after', 'before'])
    // A refresh does not make the ten minutes longer.
    await subscribe(after)
    clock.move(10 * MINUTE - 2 * QUIET - 1)
    expect(await signers('still both')).toEqual(['after', 'before'])
    clock.move(1)
    expect(await signers('the new one')).toEqual(['after'])
  })

  test('five failed attempts suspend the deliveries, and a refresh continues at the same event', async () => {
    await using stack = new AsyncDisposableStack()
    const { clock, hook, subscribe, send, failures } = await startScene(stack, '/suspended')
    await subscribe()
    hook.status = 500
    const messages = [await send('one')]
    await failures(1)
    const steps = [5, 30, 120, 480]
    for (const [index, seconds] of steps.entries()) {
      clock.move(seconds * SECOND - 1)
      await clock.looks()
      clock.move(1)
      await failures(index + 2)
    }
    const attempts = hook.all().slice(1)
    const times = attempts.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(times.map((time, index) => time - (times[index - 1] ?? time))).toEqual([0, ...steps])
    messages.push(await send('two'))
    clock.move(HOUR)
    await clock.looks()
    expect(hook.deliveries()).toHaveLength(5)
    hook.status = 204
    expect(await subscribe()).toMatchObject({ deliveryStatus: { active: false, lastError: 'http_5xx' } })
    await eventually(() => hook.deliveries().length === 7)
    expect(hook.deliveries().map(messageOf)).toEqual([...Array(6).fill(messages[0]), messages[1]])
    const ids = hook.all().map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids.slice(1)).size).toBe(2)
    await eventually(async () => (await subscribe()).deliveryStatus.lastDeliveryAt !== null)
    expect(await subscribe()).toMatchObject({ deliveryStatus: { active: true, lastError: null } })
  })

  test('events that are gone before their delivery are a gap', { timeout: 120_000 }, async () => {
    await using stack = new AsyncDisposableStack()
    const { alice, clock, hook, subscribe, send, failures } = await startScene(stack, '/gap')
    const { cursor } = await subscribe()
    hook.status = 500
    const gone = await send('gone')
    await failures(1)
    const kept = await send('kept')
    await stage.service.expire(gone)
    await eventually(async () => (await ask(alice, 'events/poll', { cursor })).truncated, { what: 'the purge' })
    hook.status = 204
    clock.move(5 * SECOND)
    await eventually(() => hook.deliveries().length === 2)
    const [gap, event] = hook.all().slice(2)
    expect(gap === undefined ? gap : bodyOf(gap)).toEqual({ type: 'gap', cursor: expect.any(String) })
    expect(messageOf(event === undefined ? event : bodyOf(event))).toBe(kept)
    // The cursor of the gap is a place to continue from.
    const rest = await ask(alice, 'events/poll', { cursor: gap === undefined ? gap : bodyOf(gap).cursor })
    expect(rest).toMatchObject({ truncated: false, events: [{ data: { message: { message_id: kept } } }] })
  })

  test('a revoked agent ends its subscriptions, and the receiver is told once', async () => {
    await using stack = new AsyncDisposableStack()
    const { alice, clock, hook, subscribe } = await startScene(stack, '/terminated')
    const { id } = await subscribe()
    const key = readKeyFile(alice.keyPath)
    await new AgentClient({ url: stage.url, key }).revoke(key.agentId)
    clock.move(QUIET)
    await eventually(() => hook.all().length === 2)
    const [, last] = hook.all()
    expect(last === undefined ? last : bodyOf(last)).toMatchObject({ type: 'terminated', error: { code: -32_024 } })
    expect(last?.headers['x-mcp-subscription-id']).toBe(id)
    await eventually(() => readStatus({ url: stage.url, keyPath: alice.keyPath }).subscriptions.length === 0)
    expect(hook.all()).toHaveLength(2)
  })

  test('parallel calls cannot make more than 20 subscriptions', async () => {
    await using stack = new AsyncDisposableStack()
    const { alice, hook, subscribe } = await startScene(stack, '/many')
    await subscribe()
    const delivery = { mode: 'webhook', url: hook.url, secret: newSecret() }
    const calls = Array.from({ length: 25 }, (_, index) =>
      ask(alice, 'events/subscribe', { delivery, arguments: { thread: `thread-${index}` } }),
    )
    const results = await Promise.allSettled(calls)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(19)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: -32_025, data: { max: 20 } })
    }
  })
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
