import { RequestTimeout } from '@svc/sdk/errors.ts'
import { ErrorAnswer, type Received, RequestFailed } from '@svc/sdk/messages/answer.ts'
import type { ProcessOptions } from '@svc/sdk/process/consumer.ts'
import { createMemoryStore } from '@svc/sdk/store/store.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clientOf, collect, registered, type Service, startService } from './agents.ts'

let service: Service
let [alice, bob, mallory]: Awaited<ReturnType<typeof registered<['alice', 'bob', 'mallory']>>> = [] as never
let stop: AbortController

beforeEach(async () => {
  service = await startService()
  ;[alice, bob, mallory] = await registered(service, 'alice', 'bob', 'mallory')
  stop = new AbortController()
})
afterEach(async () => {
  stop.abort()
  await service[Symbol.asyncDispose]()
})

const echo: ProcessOptions['handle'] = ({ body }) => ({ echo: body })

/** Bob answers, strangers too, until the test ends. */
function answering(handle = echo): Promise<void> {
  return bob.process({ handle, lanes: ['inbox', 'requests'], signal: stop.signal })
}

const sends = (): string[] =>
  service.requests
    .filter(({ method, target }) => method === 'POST' && target === '/v2/messages')
    .map(({ body }) => body)
const streams = (): number => service.requests.filter(({ target }) => target.startsWith('/v2/stream')).length

test.each([false, true])(
  'a request resolves with the verified response, which is acknowledged (sealed: %s)',
  async (seal) => {
    void answering()
    const reply = await alice.request(bob.name, { task: 1 }, { seal })
    expect(reply).toMatchObject({
      body: { echo: { task: 1 } },
      sealed: seal,
      verified: true,
      type: 'response',
      sender: { agentId: bob.key.agentId, name: bob.name },
      message: { lane: 'inbox' },
    })
    expect(reply.threadId).toBe(reply.message.envelope.reply_to)
    expect(await alice.message(reply.id)).toMatchObject({ acked: true })
    // The contact was accepted before the request left.
    const writes = service.requests.filter(({ method }) => method === 'PUT' || method === 'POST')
    const at = (target: string): number => writes.findIndex((request) => request.target.startsWith(target))
    expect(at('/v2/contacts/')).toBeLessThan(at('/v2/messages'))
  },
)

test('without acceptReplies the answer of a stranger comes as a request, and resolves all the same', async () => {
  void answering()
  expect(await alice.request(bob.name, 1, { acceptReplies: false })).toMatchObject({ message: { lane: 'requests' } })
  expect(await collect(alice.contacts())).toEqual([])
})

test('an answer of the type error is thrown, with the answer in it', async () => {
  void answering(() => new ErrorAnswer({ problem: 'no such task' }))
  const failure = await alice.request(bob.name, 1).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(RequestFailed)
  expect(failure).toMatchObject({ reply: { body: { problem: 'no such task' }, verified: true, type: 'error' } })
})

test('a late answer stays in the inbox, unacknowledged', async () => {
  const failure = await alice.request(bob.name, 1, { timeoutMs: 2_000 }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(RequestTimeout)
  void answering()
  const [late = expect.unreachable()] = await eventually(async () => {
    const inbox = await collect(alice.inbox({ unacked: true }))
    expect(inbox).toHaveLength(1)
    return inbox
  })
  expect(late.envelope.reply_to).toBe((failure as RequestTimeout).messageId)
})

test('only a response or an error of the recipient, whose signature is good, is the answer', async () => {
  await alice.updateSettings({ inbox_policy: 'open' })
  const asked = alice.request(bob.name, 1)
  const [request = expect.unreachable()] = await eventually(async () => {
    const requests = await collect(bob.inbox({ lane: 'requests' }))
    expect(requests).toHaveLength(1)
    return requests
  })
  const reply = { to: alice.name, replyTo: request.envelope.id } as const
  await expect(mallory.send({ ...reply, body: 'x', type: 'response' })).rejects.toMatchObject({
    code: 'invalid_reference',
  })
  await bob.send({ ...reply, body: 'progress', type: 'event' })
  const forged = await bob.compose({ ...reply, body: 'good', type: 'response' })
  await bob.post({ ...forged, body: 'forged' } as typeof forged)
  await bob.reply(request, 'the answer')
  expect(await asked).toMatchObject({ body: 'the answer' })
  expect(await collect(alice.inbox({ unacked: true }))).toHaveLength(2)
})

test('requests that wait at the same time share a stream, and later ones open another', async () => {
  void answering(({ body }) => new Promise((resolve) => setTimeout(() => resolve(body), 20)))
  const before = streams()
  // Bob answers a stranger in order, and the first request makes alice known to nobody, so it is sent alone.
  await bob.setContact(alice.name, 'accepted')
  const replies = await Promise.all([1, 2, 3].map((body) => alice.request(bob.name, body)))
  expect(replies.map(({ body }: Received) => body)).toEqual([1, 2, 3])
  expect(streams() - before).toBeLessThanOrEqual(2)
  expect(await alice.request(bob.name, 4)).toMatchObject({ body: 4 })
})

test('if other programs of the agent hold its streams, the history is read instead', async () => {
  await bob.setContact(alice.name, 'accepted')
  const refusals = Array.from(
    { length: 6 },
    () => ({ kind: 'refuse', code: 'stream_limit', retryAfterSeconds: 1 }) as const,
  )
  service.meet('GET /v2/stream', ...refusals)
  const asked = alice.request(bob.name, 1)
  await eventually(async () => expect(await collect(bob.inbox())).toHaveLength(1))
  void answering()
  expect(await asked).toMatchObject({ body: { echo: 1 } })
})

test('it can be aborted, refuses a board and a body that JSON cannot carry, and reports a refusal', async () => {
  const abort = new AbortController()
  const asked = alice.request(bob.name, 1, { signal: abort.signal })
  await eventually(() => expect(sends()).toHaveLength(1))
  abort.abort(new Error('enough'))
  await expect(asked).rejects.toThrow('enough')
  await expect(alice.request('board:00000000000000000000', 1)).rejects.toThrow('a board does not answer')
  await expect(alice.request(bob.name, Number.NaN)).rejects.toThrow('body is NaN')
  await expect(alice.request('bobb', 1)).rejects.toMatchObject({ code: 'recipient_unavailable' })
  await expect(alice.request(bob.name, 2)).rejects.toMatchObject({ code: 'request_pending' })
})

describe('with a key', () => {
  const asker = (store = createMemoryStore()) => clientOf(service, { key: alice.key, store, warn: () => undefined })

  /** A process that is killed while it waits for the answer. */
  async function askAndDie(store = createMemoryStore()): Promise<void> {
    const abort = new AbortController()
    const count = sends().length
    const asked = asker(store).request(bob.name, { order: 17 }, { key: 'order 17', signal: abort.signal })
    await eventually(() => expect(sends().length).toBeGreaterThan(count))
    await eventually(async () => expect((await alice.budget()).used_units).toBeGreaterThan(1))
    abort.abort()
    await asked.catch(() => undefined)
  }

  test.each(['kept', 'lost'])(
    'a repeat is the same request, and finds the answer that came meanwhile, with a %s store',
    async (how) => {
      const store = createMemoryStore()
      await askAndDie(store)
      void answering()
      await eventually(async () => expect(await collect(alice.inbox())).toHaveLength(1))
      const { used_units } = await alice.budget()
      const again = asker(how === 'kept' ? store : createMemoryStore())
      expect(await again.request(bob.name, { order: 17 }, { key: 'order 17' })).toMatchObject({
        body: { echo: { order: 17 } },
      })
      // And once more, though the answer was returned already.
      expect(await again.request(bob.name, { order: 17 }, { key: 'order 17' })).toMatchObject({
        body: { echo: { order: 17 } },
      })
      expect((await alice.budget()).used_units).toBe(used_units)
      expect(await collect(bob.inbox({ lane: 'requests' }))).toHaveLength(1)
      expect(await store.keys('requests/')).toEqual(how === 'kept' ? [] : [expect.any(String)])
    },
  )

  test('a repeat waits for an answer that has not come', async () => {
    const store = createMemoryStore()
    await askAndDie(store)
    const again = asker(store).request(bob.name, { order: 17 }, { key: 'order 17' })
    await eventually(() => expect(sends()).toHaveLength(2))
    void answering()
    expect(await again).toMatchObject({ body: { echo: { order: 17 } } })
    expect(new Set(sends().slice(0, 2))).toHaveProperty('size', 1)
  })

  test('the same request made twice at the same time is sent once, and both calls get the answer', async () => {
    void answering()
    const ask = () => alice.request(bob.name, { order: 17 }, { key: 'order 17', seal: false })
    const [one, two] = await Promise.all([ask(), ask()])
    expect([one.body, two.id]).toEqual([{ echo: { order: 17 } }, one.id])
    expect(await collect(bob.inbox({ lane: 'requests' }))).toHaveLength(1)
  })

  test('a request that was never accepted and is too old by then is signed anew under its id', async () => {
    const store = createMemoryStore()
    service.meet('POST /v2/messages', ...Array.from({ length: 6 }, () => ({ kind: 'cut' }) as const))
    await expect(asker(store).request(bob.name, 1, { key: 'k' })).rejects.toThrow('no answer from')
    service.meet('POST /v2/messages', { kind: 'refuse', code: 'envelope_timestamp_out_of_range' })
    const again = asker(store).request(bob.name, 1, { key: 'k' })
    await eventually(async () => {
      const ids = sends().map((body) => (JSON.parse(body) as { id: string; ts: string }).id)
      expect(ids.length).toBeGreaterThan(7)
      expect(new Set(ids)).toHaveProperty('size', 1)
    })
    const late = clientOf(service, { key: bob.key, warn: () => undefined })
    void late.process({ handle: echo, lanes: ['requests'], signal: stop.signal })
    expect(await again).toMatchObject({ body: { echo: 1 } })
    expect(
      new Set(
        sends()
          .slice(0, 8)
          .map((body) => (JSON.parse(body) as { ts: string }).ts),
      ),
    ).toHaveProperty('size', 2)
  })

  test('a key that was used for another recipient or body is refused, and sends nothing', async () => {
    const store = createMemoryStore()
    await askAndDie(store)
    const count = sends().length
    const again = (to: string, body: unknown) => asker(store).request(to, body, { key: 'order 17' })
    await expect(again(mallory.name, { order: 17 })).rejects.toThrow(
      `the key "order 17" belongs to a request to ${bob.fullAddress}: use another key`,
    )
    await expect(again(bob.name, { order: 18 })).rejects.toThrow(
      'the key "order 17" belongs to a request with another body: use another key',
    )
    expect(sends()).toHaveLength(count)
  })

  test('another key is another request, and nobody else can make its id', async () => {
    void answering()
    await bob.setContact(alice.name, 'accepted')
    const ids = []
    for (const key of ['one', 'two']) ids.push((await asker().request(bob.name, 1, { key })).threadId)
    expect(ids[0]).not.toBe(ids[1])
    // The id of an agent with another key differs.
    await bob.setContact(mallory.name, 'accepted')
    expect(ids).not.toContain((await mallory.request(bob.name, 1, { key: 'one' })).threadId)
  })
})
