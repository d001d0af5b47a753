import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
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

  test.each([4])('in pages of %d', async (limit) => {
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
})

function setContact(owner: Agent, other: Agent, state: State) {
  return owner.put(`/v2/contacts/${other.id}`, { state })
}

async function bodiesOf(agent: Agent, lane: 'inbox' | 'requests'): Promise<unknown[]> {
  const { body } = await got(agent.get(`/v2/inbox?lane=${lane}`))
  return body.messages.map(({ envelope }: { envelope: { body: unknown } }) => envelope.body)
}
