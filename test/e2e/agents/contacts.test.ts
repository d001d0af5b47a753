import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { readPages } from '../../support/client/pages.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness

beforeAll(async () => {
  h = await shareHarness('usual')
})
afterAll(() => h[Symbol.asyncDispose]())

const STATES = ['none', 'accepted', 'blocked'] as const
type State = (typeof STATES)[number]

describe('spec 3.19, 7.7: PUT changes the state of a contact', () => {
  // spec 7.7, 11.2: accepting costs 1 unit, everything else is free. services/messaging/test/change/contacts.test.ts has a
  // row for every transition.
  const moves = [
    { from: 'blocked', to: 'accepted', units: 1 },
    { from: 'accepted', to: 'none', units: 0 },
  ] as const
  test.each(moves)('$from -> $to costs $units', async ({ from, to, units }) => {
    const [alice, bob] = await h.agents(2)
    await got(setContact(alice, bob, from))
    const before = await spendingOf(alice)
    const answer = await setContact(alice, bob, to)
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({ state: to })
    expect(await spendingOf(alice)).toEqual({ ...before, units: before.units + units })
    expect((await alice.get('/v2/contacts')).body).toStrictEqual({
      contacts: to === 'none' ? [] : [{ agent_id: bob.id, state: to }],
      next_cursor: '',
    })
    // A contact has a direction: the other agent's list has not changed.
    expect((await bob.get('/v2/contacts')).body.contacts).toEqual([])
  })

  test('twenty concurrent acceptances over two gateways are one change, and are charged once', async () => {
    const [alice, bob] = await h.agents(2)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => {
        const url = h.system.urls[at % 2] ?? h.place.url
        return alice.put(`/v2/contacts/${bob.id}`, { state: 'accepted' }, { url })
      }),
    )
    expect(countOutcomes(answers)).toEqual({ 200: 20 })
    expect((await spendingOf(alice)).units).toBe(1)
  })
})

describe('spec 3.11, 7.7: PUT contact', () => {
  test('on oneself: 400 invalid_request', async () => {
    const [alice] = await h.agents(1)
    for (const state of STATES) expect(outcomeOf(await setContact(alice, alice, state))).toBe('400 invalid_request')
  })

  test('on an unknown id: 404, and the same for a malformed id', async () => {
    const [alice] = await h.agents(1)
    const unknown = new Agent(h.place)
    const ids = [unknown.id, 'x', '0'.repeat(44), 'a'.repeat(200), '%00', '..%2Fme']
    const answers = await Promise.all(ids.map((id) => alice.put(`/v2/contacts/${id}`, { state: 'blocked' })))
    expect(countOutcomes(answers)).toEqual({ '404 not_found': ids.length })
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test.each([
    ['another state', { state: 'friend' }],
    ['no state', {}],
    ['state null', { state: null }],
    ['an undeclared member', { state: 'accepted', note: 'x' }],
    ['an array', ['accepted']],
    ['a string', '"accepted"'],
  ])('spec 2.7: %s: 400 invalid_request', async (_name, body) => {
    const [alice, bob] = await h.agents(2)
    expect(outcomeOf(await alice.put(`/v2/contacts/${bob.id}`, body))).toBe('400 invalid_request')
    expect((await alice.get('/v2/contacts')).body.contacts).toEqual([])
    expect((await spendingOf(alice)).units).toBe(0)
  })

  test('a percent-encoded id is decoded', async () => {
    const [alice, bob] = await h.agents(2)
    const encoded = `%${bob.id.charCodeAt(0).toString(16)}${bob.id.slice(1)}`
    expect(outcomeOf(await alice.put(`/v2/contacts/${encoded}`, { state: 'blocked' }))).toBe('200')
    expect((await alice.get('/v2/contacts')).body.contacts).toEqual([{ agent_id: bob.id, state: 'blocked' }])
  })
})

describe('spec 7.9: contacts are listed in byte order of their ids', () => {
  let owner: Agent
  let entries: { agent_id: string; state: State }[]
  let others: Agent[]
  beforeAll(async () => {
    ;[owner] = await h.agents(1)
    others = await h.agents(9)
    const state = (at: number): State => (at % 2 === 0 ? 'accepted' : 'blocked')
    await Promise.all(others.map((other, at) => got(setContact(owner, other, state(at)))))
    entries = others
      .map(({ id }, at) => ({ agent_id: id, state: state(at) }))
      .toSorted((a, b) => Buffer.compare(Buffer.from(a.agent_id), Buffer.from(b.agent_id)))
  })

  test.each([1, 2, 3, 8, 9, 10, 100])('in pages of %d', async (limit) => {
    const found: unknown[] = []
    let after = ''
    do {
      const { body } = await got(owner.get(`/v2/contacts?limit=${limit}&after=${after}`))
      expect(Object.keys(body)).toEqual(['contacts', 'next_cursor'])
      expect(body.contacts.length).toBe(Math.min(limit, entries.length - found.length))
      found.push(...body.contacts)
      expect(body.next_cursor).toBe(found.length < entries.length ? body.contacts.at(-1).agent_id : '')
      after = body.next_cursor
    } while (after !== '')
    expect(found).toEqual(entries)
  })

  test('after is a position in that order and need not exist', async () => {
    const fourth = entries[3]?.agent_id ?? ''
    const places: [string, number][] = [
      ['', 0],
      ['1', 0],
      ['zzzz', 9],
      [fourth, 4],
      [`${fourth}0`, 4],
      [fourth.slice(0, -1), 3],
    ]
    for (const [after, from] of places) {
      const { body } = await got(owner.get(`/v2/contacts?after=${after}`))
      expect(body.contacts).toEqual(entries.slice(from))
    }
  })

  test.each([
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=',
    'limit=ten',
    'limit=1.5',
    'limit=1&limit=1',
    'state=blocked',
  ])('spec 3.12, 11.7: ?%s is 400 invalid_request', async (query) => {
    expect(outcomeOf(await owner.get(`/v2/contacts?${query}`))).toBe('400 invalid_request')
  })

  test('revoked identities are not listed', async () => {
    const [alice, bob, carol] = await h.agents(3)
    await Promise.all([bob, carol].map((other) => got(setContact(alice, other, 'accepted'))))
    await got(bob.post('/v2/me/revoke', { confirm_agent_id: bob.id }))
    const { body } = await got(alice.get('/v2/contacts'))
    expect(body.contacts).toEqual([{ agent_id: carol.id, state: 'accepted' }])
  })
})

describe('spec 7.7: accepting a contact moves its pending request into the inbox', () => {
  test('its lane changes, it gets a new cursor with a new event, and the older event shows the current lane', async () => {
    const [alice, bob, carol] = await h.agents(3)
    const request = alice.envelope(bob, 'may I?')
    expect((await got(alice.post('/v2/messages', request))).body.lane).toBe('requests')
    await got(bob.send(bob, 'in between'))
    await got(bob.post(`/v2/messages/${request.id}/ack`))
    await got(carol.send(bob, 'me too'))

    await got(setContact(bob, alice, 'accepted'))
    const message = (await got(bob.get(`/v2/messages/${request.id}`))).body
    expect(message).toMatchObject({ envelope: request, lane: 'inbox', acked: true })

    const { events, next_cursor } = (await got(bob.get('/v2/events'))).body
    expect(events.map(({ cursor, kind }: { cursor: number; kind: string }) => [cursor, kind])).toEqual([
      [1, 'requests'],
      [2, 'inbox'],
      [3, 'requests'],
      [4, 'inbox'],
    ])
    expect(next_cursor).toBe(4)
    expect(events[0].message).toEqual(message)
    expect(events[3].message).toEqual(message)

    // In the inbox it has the position of its new cursor, after the messages that arrived in between.
    expect(await bodiesOf(bob, 'inbox')).toEqual(['in between', 'may I?'])
    expect(await bodiesOf(bob, 'requests')).toEqual(['me too'])
    expect(await bodiesOf(alice, 'inbox')).toEqual([])
  })

  test('in every filter of the inbox it has the position of its new cursor', async () => {
    const [alice, bob] = await h.agents(2)
    const root = (await got(alice.send(bob, 'root'))).body.msg_id
    await got(bob.send(bob, 'first'))
    await got(setContact(bob, alice, 'accepted'))
    await got(alice.send(bob, 'member', { thread_id: root }))
    for (const [query, expected] of [
      ['', ['first', 'root', 'member']],
      ['&unacked=true', ['first', 'root', 'member']],
      [`&thread_id=${root}`, ['root', 'member']],
      [`&thread_id=${root}&unacked=true`, ['root', 'member']],
    ] as const) {
      const pages = await readPages(bob, `/v2/inbox?limit=1${query}`)
      expect(pages.map(({ body }) => body.messages[0].envelope.body)).toEqual(expected)
    }
  })

  test('a retry is answered with the current lane', async () => {
    const [alice, bob] = await h.agents(2)
    const request = alice.envelope(bob)
    await got(alice.post('/v2/messages', request))
    await got(setContact(bob, alice, 'accepted'))
    expect(await alice.post('/v2/messages', request)).toMatchObject({
      status: 200,
      body: { lane: 'inbox', duplicate: true },
    })
  })

  test('an acknowledged request stays pending', async () => {
    const [alice, bob] = await h.agents(2)
    const { msg_id } = (await got(alice.send(bob))).body
    await got(bob.post(`/v2/messages/${msg_id}/ack`))
    expect(outcomeOf(await alice.send(bob))).toBe('409 request_pending')
    await got(setContact(bob, alice, 'accepted'))
    expect((await alice.get(`/v2/messages/${msg_id}`)).body).toMatchObject({ lane: 'inbox', acked: true })
    expect((await got(alice.send(bob))).body.lane).toBe('inbox')
  })

  test('without a request there is no event, and accepting again makes no event either', async () => {
    const [alice, bob] = await h.agents(2)
    await got(setContact(bob, alice, 'accepted'))
    expect((await bob.get('/v2/events')).body.events).toEqual([])
    await got(setContact(bob, alice, 'none'))
    await got(alice.send(bob))
    await got(setContact(bob, alice, 'accepted'))
    await got(setContact(bob, alice, 'accepted'))
    await got(setContact(bob, alice, 'none'))
    await got(setContact(bob, alice, 'accepted'))
    expect((await bob.get('/v2/events')).body.events).toHaveLength(2)
  })

  test('accepting moves only the request from that agent to this one', async () => {
    const [alice, bob, carol] = await h.agents(3)
    await got(alice.send(bob, 'alice'))
    await got(carol.send(bob, 'carol'))
    await got(bob.send(carol, 'bob'))
    await got(setContact(bob, carol, 'accepted'))
    expect(await bodiesOf(bob, 'requests')).toEqual(['alice'])
    expect(await bodiesOf(bob, 'inbox')).toEqual(['carol'])
    expect(await bodiesOf(carol, 'requests')).toEqual(['bob'])
  })

  test('concurrent acceptances over two gateways promote once', async () => {
    const [alice, bob] = await h.agents(2)
    await got(alice.send(bob))
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        got(bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }, { url: h.system.urls[at % 2] ?? h.place.url })),
      ),
    )
    const { events } = (await bob.get('/v2/events')).body
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual(['requests', 'inbox'])
    expect(await bodiesOf(bob, 'inbox')).toEqual(['hello'])
  })

  test('an earlier export cursor stays valid, because a promotion does not change the order of acceptance', async () => {
    const [alice, bob] = await h.agents(2)
    const first = (await got(alice.send(bob))).body.msg_id
    const second = (await got(bob.send(bob))).body.msg_id
    await got(setContact(bob, alice, 'accepted'))
    const { messages } = (await got(bob.get('/v2/export'))).body
    expect(messages.map(({ envelope }: { envelope: { id: string } }) => envelope.id)).toEqual([first, second])
  })
})

describe('spec 7.7: blocking leaves delivered messages in place', () => {
  test('in both lanes, with their events', async () => {
    const [alice, bob] = await h.agents(2)
    await got(setContact(bob, alice, 'accepted'))
    const delivered = (await got(alice.send(bob, 'delivered'))).body.msg_id
    await got(setContact(bob, alice, 'none'))
    const request = (await got(alice.send(bob, 'request'))).body.msg_id
    await got(setContact(bob, alice, 'blocked'))
    expect(outcomeOf(await alice.send(bob))).toBe('403 admission_denied')

    expect(await bodiesOf(bob, 'inbox')).toEqual(['delivered'])
    expect(await bodiesOf(bob, 'requests')).toEqual(['request'])
    expect((await bob.get('/v2/events')).body.events).toHaveLength(2)
    for (const id of [delivered, request]) {
      expect(outcomeOf(await alice.get(`/v2/messages/${id}`))).toBe('200')
      expect(outcomeOf(await bob.post(`/v2/messages/${id}/ack`))).toBe('200')
      expect((await alice.get(`/v2/messages/${id}/receipts`)).body.status).toBe('processed')
    }
  })

  test('a block does not answer a request: when the block is forgotten the request is still pending, and accepting promotes it', async () => {
    const [alice, bob] = await h.agents(2)
    await got(alice.send(bob, 'request'))
    await got(setContact(bob, alice, 'blocked'))
    await got(setContact(bob, alice, 'none'))
    expect(outcomeOf(await alice.send(bob))).toBe('409 request_pending')
    await got(setContact(bob, alice, 'blocked'))
    await got(setContact(bob, alice, 'accepted'))
    expect(await bodiesOf(bob, 'inbox')).toEqual(['request'])
  })
})

function setContact(owner: Agent, other: Agent, state: State) {
  return owner.put(`/v2/contacts/${other.id}`, { state })
}

async function bodiesOf(agent: Agent, lane: 'inbox' | 'requests'): Promise<unknown[]> {
  const { body } = await got(agent.get(`/v2/inbox?lane=${lane}`))
  return body.messages.map(({ envelope }: { envelope: { body: unknown } }) => envelope.body)
}
