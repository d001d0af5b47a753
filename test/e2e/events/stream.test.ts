/** The event stream over HTTP, through two gateways and two stream processes. Source: spec 9.4 to 9.9. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { call } from '../../support/client/agent.ts'
import { got } from '../../support/client/answers.ts'
import { newBoard, putRole, subscribe } from '../../support/client/boards.ts'
import { openEventStream, type TestStream } from '../../support/client/event-stream.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { eventually } from '../../support/eventually.ts'
import { startCompressingProxy } from '../../support/stand-ins/compressing-proxy.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('roomy')
})
afterAll(() => h[Symbol.asyncDispose]())

/** A sender, and a recipient that has accepted the sender as a contact. */
async function friends(): Promise<[Agent, Agent]> {
  const [anna, ben] = await h.agents(2)
  await got(ben.put(`/v2/contacts/${anna.id}`, { state: 'accepted' }))
  return [anna, ben]
}

const send = async (from: Agent, to: Agent | string, changes = {}) =>
  (await got(from.send(to, 'hello', changes))).body.msg_id as string

/** Sends a message that lives for one second. Retries if it expired on its way. @returns the id. */
const sendShort = (from: Agent, to: Agent) =>
  eventually(async () => {
    const { status, body } = await from.send(to, 'hello', { ttl: 1 })
    return status === 202 && (body.msg_id as string)
  })

/** Converts a refused stream to an answer, for `expectError`. */
const answerOf = ({ status, headers, text }: TestStream) => ({ status, headers, text, body: JSON.parse(text) })

/** Opens a stream and waits for its history. Retries while a slot is still being released. */
async function opened(agent: Agent, query = '', url?: string): Promise<TestStream> {
  const stream = await eventually(async () => {
    const tried = await openEventStream(agent, query, url === undefined ? {} : { url })
    return tried.status === 200 ? tried : false
  })
  await stream.until('cursor')
  return stream
}

test('spec 12.1: GET /v2/stream: history, then live events, each once and as in /v2/events', async () => {
  const [anna, ben] = await friends()
  const ids = [await send(anna, ben), await send(anna, ben)]
  using stream = await opened(ben)
  expect(stream.ids()).toEqual(ids)
  ids.push(await send(anna, ben))
  await stream.until('message', 3)
  expect(stream.ids()).toEqual(ids)
  expect(stream.cursors()).toEqual([1, 2, 3])
  const { events } = (await got(ben.get('/v2/events'))).body
  const written = stream.frames.filter(({ event }) => event === 'message').map(({ data }) => JSON.parse(data ?? ''))
  expect(written).toEqual(events)
})

test('spec 9.7: two event types, retry first, the id of each is its cursor', async () => {
  const [anna, ben] = await friends()
  await send(anna, ben)
  using stream = await openEventStream(ben)
  expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream(;|$)/)
  expectStamped({ status: 200, headers: stream.headers, text: '', body: undefined })
  await stream.until('cursor')
  await send(anna, ben)
  await stream.until('message', 2)
  expect(stream.frames.map(({ event, id, retry }) => [event, id, retry])).toEqual([
    [undefined, undefined, '1000'],
    ['message', '1', undefined],
    ['cursor', '1', undefined],
    ['message', '2', undefined],
  ])
  expect(stream.frames[2]?.data).toBe('{"cursor":1}')
  for (const { event, id, data } of stream.frames) {
    if (event === 'message') expect(JSON.parse(data ?? '')).toMatchObject({ cursor: Number(id), kind: 'inbox' })
  }
})

test('spec 9.7: a proxy that compresses answers passes each event on at once', async () => {
  const [anna, ben] = await friends()
  await using proxy = await startCompressingProxy(h.place.url)
  expect((await ben.get('/v2/events', { url: proxy.url })).headers.get('content-encoding')).toBe('gzip')
  using stream = await opened(ben, '', proxy.url)
  await send(anna, ben)
  await stream.until('message')
})

test('spec 6.6: an envelope is delivered with its stored text, from history and live', async () => {
  const [anna, ben] = await friends()
  // Includes a number that is stored in another form than it was sent, characters that could break lines, and U+0000.
  const body = { big: 1, text: 'a\nb\r\n\u2028 \u0000 : data: x', '': [] }
  for (const isLive of [false, true]) {
    using stream = isLive ? await opened(ben) : undefined
    const envelope = anna.envelope(ben, body)
    const kept = JSON.stringify(envelope)
    const sent = kept.replace('"big":1,', '"big":1.0,')
    await got(anna.call('POST', '/v2/messages', { body: sent, headers: { 'content-type': 'application/json' } }))
    using read = stream ?? (await opened(ben))
    await eventually(() => read.ids().includes(envelope.id))
    expect(read.frames.find(({ data }) => data?.includes(envelope.id))?.data).toContain(kept)
    expect((await got(ben.get(`/v2/messages/${envelope.id}`))).body.envelope).toEqual(envelope)
  }
})

describe('spec 9.7: where a stream begins', () => {
  const rows: [what: string, query: string, lastEventId: string | undefined, first: number | undefined][] = [
    ['nothing said', '', undefined, 1],
    ['after=0', '?after=0', undefined, 1],
    ['after=2', '?after=2', undefined, 3],
    ['after at the end', '?after=4', undefined, undefined],
    ['Last-Event-ID', '', '1', 2],
    ['Last-Event-ID takes precedence over after', '?after=1', '3', 4],
    ['Last-Event-ID 0 takes precedence over after', '?after=3', '0', 1],
  ]
  let anna: Agent
  let ben: Agent
  beforeAll(async () => {
    ;[anna, ben] = await friends()
    for (let count = 0; count < 4; count += 1) await send(anna, ben)
  })

  test.each(rows)('%s', async (_, query, lastEventId, first) => {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    using stream = await eventually(async () => {
      const tried = await openEventStream(ben, query, { headers })
      return tried.status === 200 ? tried : false
    })
    await stream.until('cursor')
    expect(stream.cursors()).toEqual([1, 2, 3, 4].filter((cursor) => first !== undefined && cursor >= first))
    expect(stream.last()).toBe(4)
  })

  test.each([
    ['?after=-1', undefined],
    ['?after=x', undefined],
    ['?after=', undefined],
    ['?after=1.5', undefined],
    ['?after=9007199254740992', undefined],
    ['', '-1'],
    ['', 'x'],
    ['?after=1', '1.5'],
    ['?after=x', '1'],
  ])('400 invalid_cursor: %j with Last-Event-ID %s', async (query, lastEventId) => {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    using stream = await openEventStream(ben, query, { headers })
    expectError(answerOf(stream), 400, 'invalid_cursor')
  })

  test('spec 3.12: an undeclared query parameter is 400', async () => {
    using stream = await openEventStream(ben, '?limit=1')
    expectError(answerOf(stream), 400, 'invalid_request')
  })

  test('a cursor beyond the log stays unchanged: only later events come', async () => {
    using stream = await opened(ben, '?after=1000')
    expect(stream.last()).toBe(1000)
  })
})

test('spec 9.7: it requires a signature, and Last-Event-ID is no credential', async () => {
  const answer = await call(h.place, 'GET', '/v2/stream', { headers: { 'last-event-id': '1' } })
  expectError(answer, 401, 'unauthenticated')
})

test('spec 9.6: the earliest cursor is that of the oldest retained event, or of the next one; the latest is that of the last appended event', async () => {
  const [anna, ben] = await friends()
  using empty = await opened(ben)
  expect(empty.headers.get('x-svc-earliest-cursor')).toBe('1')
  expect(empty.headers.get('x-svc-latest-cursor')).toBe('0')
  await sendShort(anna, ben)
  await send(anna, ben)
  await eventually(async () => {
    using later = await openEventStream(ben)
    expect(later.headers.get('x-svc-latest-cursor')).toBe('2')
    return later.headers.get('x-svc-earliest-cursor') === '2'
  })
})

describe('spec 9.4: skipped events', () => {
  test('expired events, whose cursors are skipped', async () => {
    const [anna, ben] = await friends()
    const short = await sendShort(anna, ben)
    const kept = await send(anna, ben)
    await eventually(async () => (await ben.get(`/v2/messages/${short}`)).status === 404)
    using stream = await opened(ben)
    expect(stream.ids()).toEqual([kept])
    expect(stream.cursors()).toEqual([2])
  })

  test('spec 8.9: hidden posts', async () => {
    const [olga, rita] = await h.agents(2)
    const board = await newBoard(olga)
    await subscribe(rita, board)
    const [hidden, shown] = [await send(olga, `board:${board}`), await send(olga, `board:${board}`)]
    await got(olga.put(`/v2/boards/${board}/messages/${hidden}/visibility`, { hidden: true }))
    using stream = await opened(rita)
    expect(stream.ids()).toEqual([shown])
    expect(stream.last()).toBe(2)
  })
})

test('spec 9.2: three kinds, live, in the order of acceptance', async () => {
  const [olga, rita, eve] = await h.agents(3)
  const board = await newBoard(olga)
  await subscribe(rita, board)
  await got(rita.put(`/v2/contacts/${olga.id}`, { state: 'accepted' }))
  using stream = await opened(rita)
  const ids = [
    await send(olga, `board:${board}`),
    await send(olga, rita),
    await send(eve, rita),
    await send(olga, `board:${board}`),
  ]
  await stream.until('message', 4)
  expect(stream.ids()).toEqual(ids)
  const { events } = (await got(rita.get('/v2/events'))).body
  const written = stream.frames.filter(({ event }) => event === 'message').map(({ data }) => JSON.parse(data ?? ''))
  expect(written).toEqual(events)
  // spec 7.7: an accepted request appears again, as an inbox event
  await got(rita.put(`/v2/contacts/${eve.id}`, { state: 'accepted' }))
  await stream.until('message', 5)
  const last = stream.frames.findLast(({ event }) => event === 'message')
  expect(JSON.parse(last?.data ?? '')).toMatchObject({ cursor: 5, kind: 'inbox' })
})

describe('spec 9.5: an agent that left or was banned gets no new posts, and keeps events of boards that it may still read', () => {
  test.each([
    ['public', 'none', 'self', true],
    ['private', 'none', 'owner', false],
    ['public', 'banned', 'owner', true],
    ['private', 'banned', 'owner', false],
  ] as const)('a %s board, its reader made %s by its %s: kept %s', async (visibility, role, by, isKept) => {
    const [olga, rita, ruth] = await h.agents(3)
    const board = await newBoard(olga, { visibility })
    for (const reader of [rita, ruth]) await got(putRole(olga, board, reader, 'reader'))
    using stream = await opened(rita)
    using other = await opened(ruth)
    const first = await send(olga, `board:${board}`)
    await stream.until('message')
    await got(putRole(by === 'self' ? rita : olga, board, rita, role))
    const second = await send(olga, `board:${board}`)
    await got(rita.put(`/v2/contacts/${olga.id}`, { state: 'accepted' }))
    const direct = await send(olga, rita)
    await stream.until('message', 2)
    expect(stream.ids()).toEqual([first, direct])
    await other.until('message', 2)
    expect(other.ids()).toEqual([first, second])
    // History also contains the earlier events of boards that the agent may still read.
    using again = await opened(rita)
    expect(again.ids()).toEqual(isKept ? [first, direct] : [direct])
  })
})

describe('spec 9.8: two streams of one identity, over all processes', () => {
  test('spec 11.7: streams per identity: of 20 at once, over both gateways, two open and the others are 429 stream_limit', async () => {
    const [ben] = await h.agents(1)
    const urls = h.system.urls
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, at) => openEventStream(ben, '', { url: urls[at % 2] ?? '' })),
    )
    expect(streams.filter(({ status }) => status === 200)).toHaveLength(2)
    for (const stream of streams) if (stream.status !== 200) expectError(answerOf(stream), 429, 'stream_limit')
    for (const stream of streams) stream.close()
    // closed streams make room at once
    const [again, more] = [await opened(ben), await opened(ben)]
    using third = await openEventStream(ben)
    expectError(answerOf(third), 429, 'stream_limit')
    again.close()
    more.close()
  })

  test('each of the two gets every event', async () => {
    const [anna, ben] = await friends()
    const streams = [await opened(ben, '', h.system.urls[0]), await opened(ben, '', h.system.urls[1])]
    const ids: string[] = []
    for (let count = 0; count < 10; count += 1) ids.push(await send(anna, ben))
    for (const stream of streams) {
      await stream.until('message', 10)
      expect(stream.ids()).toEqual(ids)
      stream.close()
    }
  })
})

test('spec 5.11, 9.9: the streams of a revoked identity are closed within 2 s, with a last cursor', async () => {
  const tookMs: number[] = []
  // a busy machine may be late once, but not every time
  while (tookMs.length < 3 && !tookMs.some((ms) => ms < 2_000)) {
    const [anna, ben] = await friends()
    const streams = [await opened(ben), await opened(ben)]
    await send(anna, ben)
    await Promise.all(streams.map((stream) => stream.until('message')))
    await got(ben.post('/v2/me/revoke', { confirm_agent_id: ben.id }))
    const revokedMs = Date.now()
    for (const stream of streams) {
      expect(await stream.over).toBe('ended')
      expect(stream.frames.at(-1)).toMatchObject({ event: 'cursor', id: '1' })
    }
    tookMs.push(Date.now() - revokedMs)
    using refused = await openEventStream(ben)
    expectError(answerOf(refused), 401, 'signer_revoked')
  }
  expect(Math.min(...tookMs)).toBeLessThan(2_000)
})
