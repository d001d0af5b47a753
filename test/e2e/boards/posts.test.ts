/** POST /v2/messages to a board, as clients see it. Source: spec 6.4, 6.5, 6.9, 7.1 to 7.4, 7.13, 7.14, 8.4, 8.8, 11.2, 11.3. Who may post is in boards.test.ts. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { newBoard, putRole, subscribe } from '../../support/client/boards.ts'
import { expectError } from '../../support/client/expect-answer.ts'
import { idsOf, readList } from '../../support/client/pages.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'
import { startOperator } from '../../support/system/operator.ts'

/** 32 KiB including the quotes, in at most 16,000 characters. */
const LARGEST = '€'.repeat(10_922)

let h: SharedHarness
let admin: postgres.Sql
beforeAll(async () => {
  h = await shareHarness('roomy')
  admin = postgres(h.system.database.adminUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin?.end()
  await h[Symbol.asyncDispose]()
})

describe('spec 7.3: a post', () => {
  test('is 202 with lane board; a repeat on either gateway is 200 with duplicate true and costs nothing', async () => {
    const [olga, rita] = await h.agents(2)
    const board = await newBoard(olga)
    await subscribe(rita, board)
    const before = (await spendingOf(olga)).units
    const envelope = olga.envelope(`board:${board}`, { text: 'to all' })
    const result = { msg_id: envelope.id, status: 'accepted', lane: 'board', sender_authenticated: true }
    const first = await olga.post('/v2/messages', envelope)
    expect(first).toMatchObject({ status: 202 })
    expect(first.body).toStrictEqual({ ...result, duplicate: false })
    for (const url of h.system.urls) {
      const again = await olga.post('/v2/messages', envelope, { url })
      expect(again).toMatchObject({ status: 200 })
      expect(again.body).toStrictEqual({ ...result, duplicate: true })
      expect(outcomeOf(await olga.post('/v2/messages', { ...envelope, body: 'else' }, { url }))).toBe('409 id_conflict')
    }
    expect((await spendingOf(olga)).units - before).toBe(1)
    expect(idsOf(await readList(rita, `/v2/boards/${board}/messages`))).toEqual([envelope.id])
  })

  test('spec 7.4: the same post 20 times concurrently is accepted once', async () => {
    const [olga] = await h.agents(1)
    const board = await newBoard(olga)
    const envelope = olga.envelope(`board:${board}`)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        olga.post('/v2/messages', envelope, { url: h.system.urls[index % 2] ?? '' }),
      ),
    )
    expect(countOutcomes(answers)).toEqual({ '202': 1, '200': 19 })
    expect(idsOf(await readList(olga, `/v2/boards/${board}/messages`))).toEqual([envelope.id])
    expect((await spendingOf(olga)).units).toBe(11)
  })

  test('spec 7.4, 8.8: also while its price changes it is accepted once, and charged for its actual recipients', async () => {
    const [olga, rita, sven] = await h.agents(3)
    const board = await newBoard(olga)
    await subscribe(rita, board)
    for (let round = 0; round < 10; round += 1) {
      const before = (await spendingOf(olga)).units
      const envelope = olga.envelope(`board:${board}`)
      const [, ...answers] = await Promise.all([
        got(putRole(sven, board, sven, round % 2 === 0 ? 'reader' : 'none')),
        ...Array.from({ length: 6 }, (_, index) =>
          // The answer is 503 if an attempt at another price takes longer than the service waits.
          untilAnswered(() => olga.post('/v2/messages', envelope, { url: h.system.urls[index % 2] ?? '' })),
        ),
      ])
      expect(countOutcomes(answers)).toEqual({ '202': 1, '200': 5 })
      const [row] =
        await admin`select count(*)::int as recipients from messaging.entries where message = messaging.place_of(${envelope.id}) and log <> ${board}`
      expect((await spendingOf(olga)).units - before).toBe(row?.recipients)
    }
  })

  test('spec 7.4: after a ban the author’s retry is a duplicate, and a new post is 403', async () => {
    const [olga, wes] = await h.agents(2)
    const board = await newBoard(olga, { visibility: 'private' })
    await got(putRole(olga, board, wes, 'writer'))
    const envelope = wes.envelope(`board:${board}`)
    await got(wes.post('/v2/messages', envelope))
    await got(putRole(olga, board, wes, 'banned'))
    expect(await wes.post('/v2/messages', envelope)).toMatchObject({ status: 200, body: { duplicate: true } })
    expect(outcomeOf(await wes.send(`board:${board}`))).toBe('404 not_found')
  })

  test('spec 7.8: a post is read as it was sent, by its id and on the feed, also unsigned', async () => {
    const [olga] = await h.agents(1)
    const board = await newBoard(olga, { visibility: 'unlisted' })
    const envelope = olga.envelope(`board:${board}`, { n: 1.5, text: '\0ü😀', list: [null, true] }, { ttl: 3_600 })
    await got(olga.post('/v2/messages', envelope))
    const single = await got(call(h.place, 'GET', `/v2/messages/${envelope.id}`))
    expect(single.text).toContain(JSON.stringify(envelope))
    expect(single.body).toStrictEqual({
      envelope,
      lane: 'board',
      created_at: expect.any(Number),
      expires_at: expect.any(Number),
      acked: false,
      upvotes: 0,
    })
    const feed = await got(call(h.place, 'GET', `/v2/boards/${board}/messages`))
    expect(feed.text).toBe(`{"messages":[${single.text}],"next_cursor":""}`)
  })

  test('spec 6.4, 6.5: a sealed post is accepted by its shape, and its decoded bytes are charged', async () => {
    const [olga, rita] = await h.agents(2)
    const board = await newBoard(olga)
    const { body: _, sig: __, ...head } = olga.envelope(`board:${board}`)
    const sealed = {
      ...head,
      body_enc: Buffer.alloc(32 * 1024, 7).toString('base64'),
      ephemeral_pub: Buffer.alloc(32, 7).toString('base64'),
    }
    const before = (await spendingOf(olga)).units
    expect(outcomeOf(await olga.post('/v2/messages', sealed))).toBe('202')
    expect((await spendingOf(olga)).units - before).toBe(32)
    expect((await got(rita.get(`/v2/messages/${sealed.id}`))).body.envelope).toStrictEqual(sealed)
  })
})

describe('spec 8.8, 11.2: cost × subscribed recipients', () => {
  test('ceil(bytes / 1024) for each of owner, writers and readers, without the author and banned agents; a post without recipients costs as much as with one', async () => {
    const [olga, wes, rita, bart] = await h.agents(4)
    const board = await newBoard(olga, { posting: 'anyone' })
    const costOf = async (author: Agent, bytes: number) => {
      const before = (await spendingOf(author)).units
      await got(author.send(`board:${board}`, 'x'.repeat(bytes - 2)))
      return (await spendingOf(author)).units - before
    }
    expect(await costOf(olga, 1024)).toBe(1)
    expect(await costOf(olga, 1025)).toBe(2)
    await got(putRole(olga, board, wes, 'writer'))
    await subscribe(rita, board)
    await got(putRole(olga, board, bart, 'banned'))
    expect(await costOf(olga, 1024)).toBe(2)
    expect(await costOf(olga, 1025)).toBe(4)
    expect(await costOf(wes, 3_000)).toBe(6)
    await got(putRole(rita, board, rita, 'none'))
    expect(await costOf(wes, 3_000)).toBe(3)
    expect(await spendingOf(wes)).toMatchObject({ units: 9, introductions: 0 })
  })

  test('spec 7.2, 11.3: without enough units a post is 429, does not exist, and leaves no trace in the budget', async () => {
    await using few = await shareHarness('usual')
    const [olga, rita, sam] = await few.agents(3)
    const board = await newBoard(olga)
    for (const reader of [rita, sam]) await subscribe(reader, board)
    await got(olga.send(`board:${board}`, LARGEST))
    const before = await spendingOf(olga)
    expect(before.units).toBe(10 + 64)
    const refused = olga.envelope(`board:${board}`, LARGEST)
    const answer = await untilAnswered(() => olga.post('/v2/messages', refused)) // after the earlier charges are settled
    expectError(answer, 429, 'budget_exhausted')
    expect(await spendingOf(olga)).toEqual(before)
    expect((await readList(rita, `/v2/boards/${board}/messages`)).length).toBe(1)
    expectError(await rita.get(`/v2/messages/${refused.id}`), 404, 'not_found')
  })

  test('32 KiB to 100 subscribers: 3,200 units, one stored body, one entry for each subscriber', async () => {
    const [olga] = await h.agents(1)
    const readers: Agent[] = []
    while (readers.length < 100) readers.push(...(await h.agents(20))) // not all at once, because the machine may be slow
    const operator = await startOperator(h.system)
    try {
      await operator.grant(olga.id, 10_000, `posts-${olga.id}`)
    } finally {
      await operator[Symbol.asyncDispose]()
    }
    const board = await newBoard(olga)
    for (let at = 0; at < 100; at += 20)
      await Promise.all(readers.slice(at, at + 20).map((reader) => subscribe(reader, board)))
    const envelope = olga.envelope(`board:${board}`, 'x'.repeat(16_000 - 2))
    const wide = olga.envelope(`board:${board}`, LARGEST)
    for (const each of [envelope, wide]) await got(olga.post('/v2/messages', each))
    expect((await spendingOf(olga)).units).toBe(10 + 1_600 + 3_200)
    const bodies = await admin`select id from messaging.messages where recipient = ${board}`
    expect(bodies).toHaveLength(2)
    const entries = await admin`select log, xmin from messaging.entries where message = messaging.place_of(${wide.id})`
    expect(new Set(entries.map(({ log }) => log))).toEqual(new Set([board, ...readers.map(({ id }) => id)]))
    expect(new Set(entries.map(({ xmin }) => xmin)).size).toBe(1)
    for (const reader of [readers[0], readers[99]]) {
      expect((await got((reader ?? olga).get('/v2/events'))).body.events).toMatchObject([
        { cursor: 1, kind: 'board', message: { envelope: { id: envelope.id } } },
        { cursor: 2, kind: 'board', message: { envelope: { id: wide.id } } },
      ])
    }
  })
})

describe('spec 6.9: references of a post stay on its board', () => {
  test('only to a live post of the same board, by any author; thread_id only to a root', async () => {
    const [olga, wes] = await h.agents(2)
    const [board, other] = [await newBoard(olga, { posting: 'anyone' }), await newBoard(olga, { posting: 'anyone' })]
    await got(wes.patch('/v2/me', { inbox_policy: 'open' }))
    const post = async (author: Agent, to: string, changes = {}) =>
      (await got(author.send(`board:${to}`, 'post', changes))).body.msg_id as string
    const root = await post(olga, board)
    const member = await post(wes, board, { thread_id: root })
    const elsewhere = await post(wes, other)
    const hidden = await post(wes, board)
    await got(olga.put(`/v2/boards/${board}/messages/${hidden}/visibility`, { hidden: true }))
    const dm = (await got(olga.send(wes))).body.msg_id
    const INVALID = '400 invalid_reference'
    const rows: [id: string, reply: string, thread: string][] = [
      [root, '202', '202'],
      [member, '202', INVALID],
      [elsewhere, INVALID, INVALID],
      [hidden, INVALID, INVALID],
      [dm, INVALID, INVALID],
      [randomBytes(12).toString('base64url'), INVALID, INVALID],
      ['with\u0000nul', INVALID, INVALID],
    ]
    for (const author of [olga, wes]) {
      for (const [id, reply, thread] of rows) {
        const found = [
          outcomeOf(await author.send(`board:${board}`, 'reply', { reply_to: id })),
          outcomeOf(await author.send(`board:${board}`, 'member', { thread_id: id })),
        ]
        expect({ id, found }).toEqual({ id, found: [reply, thread] })
      }
    }
    expect(outcomeOf(await olga.send(wes, 'about a post', { reply_to: root }))).toBe(INVALID)
  })

  test('spec 7.2: the time is checked first, then the board, then the references', async () => {
    const [olga, eve] = await h.agents(2)
    const board = await newBoard(olga)
    const ts = new Date(Date.now() - 400_000).toISOString()
    const faults = { reply_to: 'nothing-there', ts }
    expect(outcomeOf(await eve.send(`board:${board}`, 'x', faults))).toBe('400 envelope_timestamp_out_of_range')
    expect(outcomeOf(await eve.send(`board:${board}`, 'x', { reply_to: 'nothing-there' }))).toBe('403 forbidden')
    expect(outcomeOf(await olga.send(`board:${board}`, 'x', { reply_to: 'nothing-there' }))).toBe(
      '400 invalid_reference',
    )
  })
})

test('spec 7.13, 7.14: ack and receipts of a post are 404 for everybody, the answer for an unknown id', async () => {
  const [olga, rita] = await h.agents(2)
  const board = await newBoard(olga)
  await subscribe(rita, board)
  const { msg_id: id } = (await got(olga.send(`board:${board}`))).body
  for (const agent of [olga, rita]) {
    for (const [method, path] of [
      ['POST', 'ack'],
      ['GET', 'receipts'],
    ] as const) {
      const [answer, unknown] = await Promise.all([
        agent.call(method, `/v2/messages/${id}/${path}`),
        agent.call(method, `/v2/messages/absent-message/${path}`),
      ])
      expectError(answer, 404, 'not_found')
      expect(answer.text).toBe(unknown.text)
    }
  }
})

test('spec 6.2: a malformed board address is 400, an unknown one 404', async () => {
  const [olga] = await h.agents(1)
  for (const to of [
    'board:',
    'board:short',
    `board:${'a'.repeat(41)}`,
    `board:${'A'.repeat(24)}`,
    `Board:${'a'.repeat(24)}`,
  ]) {
    expect(outcomeOf(await olga.send(to))).toBe('400 invalid_envelope')
  }
  for (const to of ['a'.repeat(20), 'z'.repeat(40)])
    expect(outcomeOf(await olga.send(`board:${to}`))).toBe('404 not_found')
})

test('spec 6.8: an expired post is excluded from every read at once, and takes no vote, reply or hiding', async () => {
  const [olga, rita] = await h.agents(2)
  const board = await newBoard(olga)
  await subscribe(rita, board)
  let id = ''
  let posted = 0
  const shown = async () => ({
    byId: outcomeOf(await rita.get(`/v2/messages/${id}`)),
    feed: idsOf(await readList(rita, `/v2/boards/${board}/messages`)),
    thread: idsOf(await readList(rita, `/v2/boards/${board}/messages?thread_id=${id}`)),
    exported: idsOf(await readList(olga, '/v2/export')),
    events: (await got(rita.get('/v2/events'))).body.events.length,
  })
  // If a post expires before everything was read, the test proves nothing. It then repeats with a longer life.
  let expiresMs = 0
  let isSeen = false
  for (let ttl = 3; !isSeen && ttl < 30; ttl *= 2) {
    const answer = await olga.send(`board:${board}`, 'soon gone', { ttl })
    if (outcomeOf(answer) === '400 expired') continue
    expect(outcomeOf(answer)).toBe('202')
    id = answer.body.msg_id
    posted += 1
    expiresMs = (await rita.get(`/v2/messages/${id}`)).body.expires_at * 1000
    const seen = await shown()
    if (!(Date.now() < expiresMs)) continue
    expect(seen).toEqual({ byId: '200', feed: [id], thread: [id], exported: [id], events: 1 })
    isSeen = true
  }
  expect(isSeen).toBe(true)
  await eventually(() => Date.now() >= expiresMs)
  const gone = { byId: '404 not_found', feed: [], thread: [], exported: [], events: 0 }
  await eventually(async () => expect(await shown()).toEqual(gone)) // allows for the difference between two clocks
  expect(outcomeOf(await rita.put(`/v2/messages/${id}/vote`))).toBe('404 not_found')
  expect(outcomeOf(await olga.put(`/v2/boards/${board}/messages/${id}/visibility`, { hidden: true }))).toBe(
    '404 not_found',
  )
  expect(outcomeOf(await olga.send(`board:${board}`, 'reply', { reply_to: id }))).toBe('400 invalid_reference')
  expect((await got(rita.get('/v2/events'))).body.next_cursor).toBe(posted)
})
