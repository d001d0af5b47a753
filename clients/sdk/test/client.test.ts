import { AnswerError, ApiError } from '@svc/sdk/errors.ts'
import type { EventGap } from '@svc/sdk/events/event-listing.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import type { Fault } from '@svc/test/support/stand-ins/fault-proxy.ts'
import { describe, expect, test } from 'vitest'
import { clientOf, collect, registered, startService, uniqueName } from './agents.ts'

test('every member of a draft is in the envelope', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const root = await alice.send({ to: alice.name, body: 1 })
  const id = uniqueName('an-id-of-my-own')
  const envelope = await alice.compose({
    to: alice.name,
    body: [null, 'ü', { b: 1, a: 0.5 }],
    type: 'response',
    ttl: 60,
    replyTo: root.msg_id,
    threadId: root.msg_id,
    id,
  })
  expect(envelope).toMatchObject({
    id,
    from: alice.fullAddress,
    to: alice.fullAddress,
    type: 'response',
    ttl: 60,
    reply_to: root.msg_id,
    thread_id: root.msg_id,
    body: [null, 'ü', { b: 1, a: 0.5 }],
  })
  expect(Math.abs(Date.parse(envelope.ts) - Date.now())).toBeLessThan(60_000)
  await alice.post(envelope)
  expect(await collect(alice.inbox({ threadId: root.msg_id }))).toHaveLength(2)
})

test('spec 2.5: a body that JSON cannot carry is refused before any request', async () => {
  await using service = await startService()
  const client = clientOf(service, { key: generateKey() })
  const draft = { to: 'bob', body: { items: [{ price: Number.NaN }] } }
  await expect(client.send(draft, { seal: true })).rejects.toThrow('body.items[0].price is NaN')
  expect(service.requests).toEqual([])
})

test('the body is converted by JSON.stringify before it is signed, so the recipient gets the signed value', async () => {
  const own = { key: generateKey(), authority: 'x', name: 'bob' }
  const client = clientOf({ url: 'http://127.0.0.1:9' }, own)
  const at = new Date(0)
  const envelope = await client.compose({ to: 'bob', body: { at, zero: -0 } })
  expect(envelope).toMatchObject({ body: { at: at.toISOString(), zero: 0 } })
  const received = JSON.parse(JSON.stringify(envelope))
  expect(await client.open(received, { sender: own.key.pubkey })).toMatchObject({ verified: true })
})

test('composing sends no request if name and authority are given, and the recipient is not looked up', async () => {
  await using service = await startService()
  const [alice, bob] = await registered(service, 'alice', 'bob')
  const { authority } = service
  const client = clientOf(service, { key: alice.key, name: alice.name, authority })
  const seen = service.requests.length
  expect(await client.compose({ to: bob.name, body: 1 })).toMatchObject({ from: alice.fullAddress })
  await client.compose({ to: bob.name, body: 1 }, { seal: bob.key.pubkey })
  expect(service.requests).toHaveLength(seen)
  await client.compose({ to: bob.name, body: 1 }, { seal: true })
  await client.compose({ to: bob.fullAddress, body: 1 }, { seal: true })
  expect(service.requests).toHaveLength(seen + 1)
})

test.each<[string, string, number]>([
  ['bobb', 'recipient_unavailable', 404],
  ['bob@elsewhere.example', 'recipient_not_local', 400],
  ...['Bob', 'bob ', 'ab', 'a/b', 'bob@', '', '.', '..', 'bob@127.0.0.1@x', '@', generateKey().agentId].map(
    (to): [string, string, number] => [to, 'invalid_envelope', 400],
  ),
])(
  'spec 6.2: the mistyped recipient %j gives one error, however it is sent, and costs nothing',
  async (to, code, status) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const ways = [
      alice.send({ to, body: 1 }),
      alice.send({ to, body: 1 }, { seal: true }),
      alice.send({ to, body: 1 }, { acceptReplies: true }),
      alice.request(to, 1),
    ]
    const errors: ApiError[] = await Promise.all(
      ways.map((way) =>
        way.then(
          () => expect.unreachable(),
          (error) => error,
        ),
      ),
    )
    for (const { name, code: found, status: answered, message } of errors)
      expect([name, found, answered, message]).toEqual(['ApiError', code, status, errors[0]?.message])
    expect((await alice.budget()).used_units).toBe(0)
  },
)

test('public reads need no key and are not signed', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const seen = service.requests.length
  const anyone = clientOf(service)
  expect(await anyone.health()).toMatchObject({ status: 'ok' })
  expect(await anyone.manifest()).toMatchObject({ authority: service.authority })
  expect(await anyone.lookup(alice.name)).toMatchObject({ name: alice.name })
  expect((await anyone.agents().page()).items).toEqual(expect.any(Array))
  expect(service.requests.slice(seen).every(({ headers }) => headers.authorization === undefined)).toBe(true)
  await expect(anyone.me()).rejects.toThrow(TypeError)
  await expect(anyone.send({ to: 'alice', body: 1 })).rejects.toThrow(TypeError)
})

test('spec 5.2: health() returns the state of an unavailable service, and does not throw', async () => {
  await using service = await startService()
  const body = JSON.stringify({ status: 'unavailable', service: 's', version: '2.0.0' })
  service.meet('GET /v2/health', { kind: 'answer', status: 503, body })
  expect(await clientOf(service).health()).toMatchObject({ status: 'unavailable' })
  expect(service.requests).toHaveLength(1)
})

test('spec 13.1: concurrent calls ask once for the authority, and again after a failure', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const manifests = (): number => service.requests.filter(({ target }) => target.startsWith('/.well-known')).length
  const before = manifests()
  const client = clientOf(service, { key: alice.key })
  service.meet('GET /.well-known', { kind: 'answer', status: 404, body: '' })
  await expect(client.me()).rejects.toThrow(AnswerError)
  await Promise.all([client.me(), client.budget(), client.me()])
  await client.me()
  expect(manifests() - before).toBe(2)
})

test('no request is signed for a service with another signature version', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const manifest = await alice.manifest()
  const body = JSON.stringify({ ...manifest, signature: { ...manifest.signature, version: 'SVC2' } })
  service.meet('GET /.well-known', { kind: 'answer', status: 200, body })
  await expect(clientOf(service, { key: alice.key }).me()).rejects.toThrow('SVC2')
})

describe('register', () => {
  const challengeOf = (difficulty: number): Fault => {
    const challenge = {
      challenge: 'x',
      difficulty,
      expires_at: Math.floor(Date.now() / 1_000) + 300,
      algorithm: 'sha256',
    }
    return { kind: 'answer', status: 201, body: JSON.stringify(challenge) }
  }

  test('asks for a limited number of further challenges if one expired or was used meanwhile', async () => {
    await using service = await startService()
    const [name, alice] = [uniqueName('alice'), clientOf(service, { key: generateKey() })]
    const register = 'POST /v2/agents/register'
    service.meet(
      register,
      { kind: 'refuse', code: 'challenge_invalid' },
      { kind: 'refuse', code: 'challenge_consumed' },
    )
    expect(await alice.register(name)).toMatchObject({ address: `${name}@${service.authority}` })
    expect(service.requests.filter(({ target }) => target === '/v2/challenges')).toHaveLength(3)
    const refused = { kind: 'refuse', code: 'challenge_invalid' } as const
    service.meet(register, refused, refused, refused)
    const bob = clientOf(service, { key: generateKey() })
    await expect(bob.register('bob')).rejects.toMatchObject({ code: 'challenge_invalid' })
  })

  test('does not begin a proof of work that would outlast its challenge', async () => {
    await using service = await startService()
    service.meet('POST /v2/challenges', challengeOf(200))
    await expect(clientOf(service, { key: generateKey() }).register('alice')).rejects.toThrow('200 bits')
  })

  test('can be aborted during the proof of work', async () => {
    await using service = await startService()
    service.meet('POST /v2/challenges', challengeOf(28))
    const stop = new AbortController()
    const alice = clientOf(service, { key: generateKey() })
    const options = { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) }
    await expect(alice.register('alice', options)).rejects.toThrow('enough')
    expect(service.requests.some(({ target }) => target === '/v2/agents/register')).toBe(false)
  })
})

describe('revoke', () => {
  test('succeeds if its answer was lost, because the retry is refused as revoked', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    service.meet('POST /v2/me/revoke', { kind: 'lose' })
    expect(await alice.revoke(alice.key.agentId)).toEqual({ status: 'revoked' })
  })
})

test('a directory entry is refused if its key, id and name do not belong together', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  const agent = await alice.lookup(alice.name)
  const lies = [
    { ...agent, pubkey: generateKey().pubkey },
    { ...agent, name: 'bob' },
    { ...agent, pubkey: 'ed25519:00' },
  ]
  for (const lie of lies) {
    service.meet(`GET /v2/agents/${alice.name}`, { kind: 'answer', status: 200, body: JSON.stringify(lie) })
    await expect(alice.lookup(alice.name)).rejects.toThrow(AnswerError)
  }
})

describe('lists', () => {
  test('are read page by page, also with cursors that need percent-encoding', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push((await alice.send({ to: alice.name, body: n })).msg_id)
    const seen = service.requests.length
    const messages = await collect(alice.inbox({ pageSize: 2 }))
    expect(messages.map(({ envelope }) => envelope.id)).toEqual(ids)
    expect(
      service.requests.slice(seen).map(({ target }) => new URL(target, service.url).searchParams.get('limit')),
    ).toEqual(['2', '2', '2'])
    expect((await collect(alice.export({ pageSize: 100 }))).map(({ envelope }) => envelope.id)).toEqual(ids)
  })

  test('can be continued after a page', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    for (let n = 0; n < 5; n++) await alice.send({ to: alice.name, body: n })
    const first = await alice.inbox({ pageSize: 3 }).page()
    expect(first.items).toHaveLength(3)
    expect(await collect(alice.inbox({ after: first.next }))).toHaveLength(2)
    const sizes = (await collect(alice.inbox({ pageSize: 2 }).pages())).map(({ items }) => items.length)
    expect(sizes).toEqual([2, 2, 1])
  })

  test('send no request before they are read, and request only the pages that are read', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    for (let n = 0; n < 3; n++) await alice.send({ to: alice.name, body: n })
    const seen = service.requests.length
    const inbox = alice.inbox({ pageSize: 1 })
    expect(service.requests).toHaveLength(seen)
    for await (const { envelope } of inbox) {
      expect(envelope.from).toBe(alice.fullAddress)
      break
    }
    expect(service.requests).toHaveLength(seen + 1)
  })

  test('end with an error if a hostile service repeats a cursor', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const page = { kind: 'answer', status: 200, body: JSON.stringify({ messages: [], next_cursor: 'again' }) } as const
    service.meet('GET /v2/inbox', page, page, page)
    await expect(collect(alice.inbox())).rejects.toThrow('does not advance')
  })
})

describe('events', () => {
  test('spec 9.6, 13.4: a gap is reported, and the absence of events is not a gap', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push((await alice.send({ to: alice.name, body: n })).msg_id)
    await service.expire(...ids.slice(0, 3))
    const gapsAfter = async (after: number): Promise<EventGap[]> => {
      const gaps: EventGap[] = []
      await collect(alice.events({ after, pageSize: 1, onGap: (gap) => gaps.push(gap) }))
      return gaps
    }
    expect(await gapsAfter(1)).toEqual([{ after: 1, earliest: 4 }])
    expect(await gapsAfter(3)).toEqual([])
    expect(await gapsAfter(0)).toEqual([])
    await service.expire(...ids)
    expect(await gapsAfter(4)).toEqual([{ after: 4, earliest: 6 }])
    expect(await gapsAfter(5)).toEqual([])
  })

  test('spec 9.6: latestCursor() takes one request, even if the events are gone', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    expect(await alice.latestCursor()).toBe(0)
    const { msg_id } = await alice.send({ to: alice.name, body: 1 })
    await service.expire(msg_id)
    const asked = service.requests.length
    expect(await alice.latestCursor()).toBe(1)
    expect(service.requests).toHaveLength(asked + 1)
  })

  test('latestCursor() reads all events of a service that does not announce the last cursor', async () => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const old = clientOf(service, {
      key: alice.key,
      fetch: async (...request) => {
        const { status, body, headers: sent } = await fetch(...request)
        const headers = new Headers(sent)
        headers.delete('x-svc-latest-cursor')
        return new Response(body, { status, headers })
      },
    })
    expect(await old.latestCursor()).toBe(0)
    for (let n = 0; n < 5; n++) await alice.send({ to: alice.name, body: n })
    expect(await old.latestCursor()).toBe(5)
    expect(await old.events().page()).toMatchObject({ latest: undefined })
  })

  test.each([
    ['repeats an event', { events: [2, 2], next_cursor: 2 }],
    ['goes backwards', { events: [], next_cursor: 0 }],
    ['returns an event before the requested cursor', { events: [1], next_cursor: 3 }],
    ['returns an event after its next cursor', { events: [5], next_cursor: 4 }],
  ])('an answer that %s is an AnswerError', async (_, { events, next_cursor }) => {
    await using service = await startService()
    const [alice] = await registered(service, 'alice')
    const { msg_id } = await alice.send({ to: alice.name, body: 1 })
    const message = await alice.message(msg_id)
    const body = {
      events: events.map((cursor) => ({ cursor, kind: 'inbox', message })),
      next_cursor,
      retention_days: 30,
    }
    service.meet('GET /v2/events', { kind: 'answer', status: 200, body: JSON.stringify(body) })
    await expect(collect(alice.events({ after: 1 }))).rejects.toThrow(AnswerError)
  })
})

test.each([
  'ftp://x.example',
  'http://x.example/prefix',
  'http://x.example/?a=1',
  'http://user:pass@x.example',
  'http://x.example/#there',
])('the service URL %s is refused', (url) => {
  expect(() => clientOf({ url })).toThrow(TypeError)
})

test.each(['', '.', '..'])('the id %j is refused, because a URL would drop it from the path', async (id) => {
  const client = clientOf({ url: 'http://127.0.0.1:9' }, { key: generateKey(), authority: 'x' })
  await expect(client.message(id)).rejects.toThrow(TypeError)
  await expect(client.lookup(id)).rejects.toThrow(TypeError)
})

test('an id with special characters of URLs stays one segment, and is signed as it is sent', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  for (const id of ['../me', 'a/b?c#d', 'ü %2e%2e'])
    await expect(alice.receipt(id)).rejects.toMatchObject({ code: 'not_found' })
  expect(service.requests.at(-1)?.target).toBe('/v2/messages/%C3%BC%20%252e%252e/receipts')
})

test('an ApiError has a code, a message, a wait and a request id', async () => {
  await using service = await startService()
  const [alice] = await registered(service, 'alice')
  service.meet('POST /v2/messages', { kind: 'refuse', code: 'budget_exhausted', retryAfterSeconds: 3600 })
  const error = await alice.send({ to: alice.name, body: 1 }).catch((failure: unknown) => failure)
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({
    status: 429,
    code: 'budget_exhausted',
    message: 'free units and credits do not cover the cost',
    retryAfterSeconds: 3600,
    requestId: expect.stringMatching(/^\d{32}$/),
  })
})
