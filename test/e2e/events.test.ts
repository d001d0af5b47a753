/** GET /v2/events. Source: spec 9.1 to 9.4, 9.6. Expiry is in expiry.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../support/agent.ts'
import { got, outcomeOf } from '../support/answers.ts'
import { type Harness, startHarness } from '../support/harness.ts'

let h: Harness
let alice: Agent
/** Has seven events: alternately of a friend and of strangers. */
let bob: Agent
let sent: { id: string; kind: string }[]

beforeAll(async () => {
  h = await startHarness()
  ;[alice, bob] = await h.agents(2)
  const strangers = await h.agents(3)
  await got(bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }))
  sent = []
  for (const from of [alice, ...strangers.flatMap((stranger) => [stranger, alice])]) {
    const { msg_id, lane } = (await got(from.send(bob, sent.length))).body
    sent.push({ id: msg_id, kind: lane })
  }
})
afterAll(() => h[Symbol.asyncDispose]())

interface Event {
  cursor: number
  kind: string
  message: { envelope: { id: string }; lane: string }
}

function earliest({ headers }: HttpAnswer): string | null {
  return headers.get('x-svc-earliest-cursor')
}

function latest({ headers }: HttpAnswer): string | null {
  return headers.get('x-svc-latest-cursor')
}

describe('spec 9.1, 9.3: GET /v2/events', () => {
  test('every member and no other; cursors rise by one from 1, in the order of acceptance', async () => {
    const answer = await got(bob.get('/v2/events'))
    expect(answer.body.retention_days).toBe(30)
    expect(Object.keys(answer.body).toSorted()).toEqual(['events', 'next_cursor', 'retention_days'])
    const events: Event[] = answer.body.events
    expect(events.map(({ cursor, kind, message }) => ({ cursor, kind, id: message.envelope.id }))).toEqual(
      sent.map(({ id, kind }, at) => ({ cursor: at + 1, kind, id })),
    )
    for (const event of events) {
      expect(Object.keys(event).toSorted()).toEqual(['cursor', 'kind', 'message'])
      expect(event.message).toStrictEqual((await got(bob.get(`/v2/messages/${event.message.envelope.id}`))).body)
      expect(event.kind).toBe(event.message.lane)
    }
  })

  test('a sender has no event of what it sent to another', async () => {
    expect((await got(alice.get('/v2/events'))).body).toEqual({ events: [], next_cursor: 0, retention_days: 30 })
  })

  test('spec 9.2: nothing but acceptance makes one', async () => {
    const [carol, dave] = await h.agents(2)
    await got(carol.put(`/v2/contacts/${dave.id}`, { state: 'blocked' }))
    await got(carol.patch('/v2/me', { inbox_policy: 'closed', discoverable: true }))
    await dave.send(carol)
    for (const agent of [carol, dave]) expect((await got(agent.get('/v2/events'))).body.events).toEqual([])
  })
})

describe('spec 9.4: next_cursor is the last cursor examined, or after where there is none', () => {
  const rows: [query: string, cursors: number[], nextCursor: number][] = [
    ['', [1, 2, 3, 4, 5, 6, 7], 7],
    ['?after=0', [1, 2, 3, 4, 5, 6, 7], 7],
    ['?after=3', [4, 5, 6, 7], 7],
    ['?after=6', [7], 7],
    ['?after=7', [], 7],
    ['?after=8', [], 8],
    ['?after=1000000', [], 1_000_000],
    ['?after=9007199254740991', [], Number.MAX_SAFE_INTEGER],
    ['?limit=1', [1], 1],
    ['?limit=3', [1, 2, 3], 3],
    ['?limit=7', [1, 2, 3, 4, 5, 6, 7], 7],
    ['?limit=100', [1, 2, 3, 4, 5, 6, 7], 7],
    ['?after=2&limit=2', [3, 4], 4],
    ['?limit=2&after=6', [7], 7],
  ]
  test.each(rows)('%j', async (query, cursors, nextCursor) => {
    for (const url of h.system.urls) {
      const answer = await got(bob.get(`/v2/events${query}`, { url }))
      expect(answer.body.events.map(({ cursor }: Event) => cursor)).toEqual(cursors)
      expect(answer.body.next_cursor).toBe(nextCursor)
      expect(earliest(answer)).toBe('1')
    }
  })
})

describe('spec 9.4: after', () => {
  test.each(['', '-1', '1.5', '1e1', 'x', '0x1', '%201', '1%00', '+1', '%D9%A3', 'null', '99999999999999999999'])(
    '%j is 400 invalid_cursor',
    async (after) => {
      expect(outcomeOf(await bob.get(`/v2/events?after=${after}`))).toBe('400 invalid_cursor')
    },
  )

  test.each(['limit=0', 'limit=101', 'limit=x', 'after=1&after=1', 'lane=inbox', 'kind=inbox', 'unacked=true'])(
    'spec 3.12, 11.7: ?%s is 400 invalid_request',
    async (query) => {
      expect(outcomeOf(await bob.get(`/v2/events?${query}`))).toBe('400 invalid_request')
    },
  )

  test('the cursor of a message list is none', async () => {
    const { next_cursor } = (await got(bob.get('/v2/inbox?limit=1'))).body
    expect(outcomeOf(await bob.get(`/v2/events?after=${next_cursor}`))).toBe('400 invalid_cursor')
  })
})

describe('spec 9.6: X-SVC-Earliest-Cursor and X-SVC-Latest-Cursor', () => {
  test('the next one to come where there is none', async () => {
    const [carol, dave] = await h.agents(2)
    for (const query of ['', '?after=5']) {
      const answer = await got(carol.get(`/v2/events${query}`))
      expect([earliest(answer), latest(answer)]).toEqual(['1', '0'])
    }
    await got(dave.send(carol))
    for (const query of ['', '?after=1', `?after=${Number.MAX_SAFE_INTEGER}&limit=1`]) {
      const answer = await got(carol.get(`/v2/events${query}`))
      expect([earliest(answer), latest(answer)]).toEqual(['1', '1'])
    }
  })

  test('Date is sent on every answer', async () => {
    for (const path of ['/v2/events', '/v2/events?after=x', '/nothing']) {
      const askedMs = Date.now()
      const sentMs = Date.parse((await bob.get(path)).headers.get('date') ?? '')
      expect(sentMs).toBeGreaterThan(askedMs - 5_000)
      expect(sentMs).toBeLessThan(Date.now() + 5_000)
    }
  })
})

test('spec 3.1: without a signature 401', async () => {
  expect((await fetch(`${h.place.url}/v2/events`)).status).toBe(401)
})
