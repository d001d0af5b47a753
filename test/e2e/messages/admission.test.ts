import type { JsonValue } from '@svc/envelope/json-value.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

let h: Harness

beforeAll(async () => {
  // low limits, so that one sender can run into every limit (see the order of errors)
  h = await startHarness({
    replicas: { ...ONE_OF_EACH, messaging: 2, budget: 2, gateway: 2 },
    env: { SVC_DAILY_FREE_UNITS: '20', SVC_DAILY_HARD_LIMIT: '22', SVC_DAILY_INTRODUCTIONS: '3' },
  })
})
afterAll(() => h[Symbol.asyncDispose]())

type Policy = 'requests' | 'open' | 'contacts' | 'closed'
type Contact = 'none' | 'accepted' | 'blocked'

describe('spec 7.6: admission', () => {
  const DENIED = '403 admission_denied'
  // One row per outcome. services/messaging/src/domain/admission.test.ts has the whole table.
  const rows: [policy: Policy, contact: Contact, pending: 'pending' | 'no request', outcome: string][] = [
    ['requests', 'none', 'no request', '202 requests'],
    ['requests', 'none', 'pending', '409 request_pending'],
    ['contacts', 'accepted', 'no request', '202 inbox'],
    ['open', 'blocked', 'pending', DENIED],
    ['closed', 'accepted', 'no request', DENIED],
  ]
  test.each(rows)('policy %s, contact %s, %s: %s', async (policy, contact, pending, outcome) => {
    const [sender, recipient] = await h.agents(2)
    if (pending === 'pending') await got(sender.send(recipient, 'first'))
    if (contact !== 'none') await got(recipient.put(`/v2/contacts/${sender.id}`, { state: contact }))
    if (policy !== 'requests') await got(recipient.patch('/v2/me', { inbox_policy: policy }))
    const before = await spendingOf(sender)

    const answer = await sender.send(recipient, 'now')
    expect(laneOutcomeOf(answer)).toBe(outcome)
    // spec 11.3, 11.5: a rejected DM does not count.
    const accepted = answer.status === 202 ? 1 : 0
    const introduced = accepted === 1 && pending === 'no request' ? 1 : 0
    expect(await spendingOf(sender)).toEqual({
      units: before.units + accepted,
      introductions: before.introductions + introduced,
      credits: 0,
    })
    const received = await Promise.all(
      (['inbox', 'requests'] as const).map(async (lane) => {
        const { messages } = (await got(recipient.get(`/v2/inbox?lane=${lane}`))).body
        return messages.filter(({ envelope }: { envelope: { body: JsonValue } }) => envelope.body === 'now').length
      }),
    )
    expect(received).toEqual([outcome === '202 inbox' ? 1 : 0, outcome === '202 requests' ? 1 : 0])
  })

  test('spec 7.6, 11.5: a message to oneself is accepted under policy closed, every time, and is never an introduction', async () => {
    const [agent] = await h.agents(1)
    await got(agent.patch('/v2/me', { inbox_policy: 'closed' }))
    const { units } = await spendingOf(agent)
    for (let time = 1; time <= 2; time += 1) expect(laneOutcomeOf(await agent.send(agent))).toBe('202 inbox')
    expect(await spendingOf(agent)).toEqual({ units: units + 2, introductions: 0, credits: 0 })
  })

  test('spec 7.6: closed, contacts and a block are refused with one text', async () => {
    const [sender, closed, contacts, blocking] = await h.agents(4)
    await got(closed.patch('/v2/me', { inbox_policy: 'closed' }))
    await got(contacts.patch('/v2/me', { inbox_policy: 'contacts' }))
    await got(blocking.put(`/v2/contacts/${sender.id}`, { state: 'blocked' }))
    const answers = await Promise.all([closed, contacts, blocking].map((to) => sender.send(to)))
    expect(countOutcomes(answers)).toEqual({ '403 admission_denied': 3 })
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test('every change of policy applies to the next message, at both gateways', async () => {
    const [sender, recipient] = await h.agents(2)
    const steps: [Policy, string][] = [
      ['open', '202 inbox'],
      ['closed', '403 admission_denied'],
      ['requests', '202 requests'],
      ['contacts', '403 admission_denied'],
      ['open', '202 inbox'],
      ['requests', '409 request_pending'],
    ]
    for (const [at, [policy, outcome]] of steps.entries()) {
      await got(recipient.patch('/v2/me', { inbox_policy: policy }))
      const url = h.system.urls[at % 2] ?? h.place.url
      expect(laneOutcomeOf(await sender.post('/v2/messages', sender.envelope(recipient), { url }))).toBe(outcome)
    }
  })
})

describe('spec 7.6: one unexpired pending request for each sender and recipient', () => {
  test('of twenty concurrent requests over two gateways, one is accepted, and only that one is charged', async () => {
    const [sender, recipient] = await h.agents(2)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        sender.post('/v2/messages', sender.envelope(recipient, at), { url: h.system.urls[at % 2] ?? h.place.url }),
      ),
    )
    expect(countOutcomes(answers)).toEqual({ 202: 1, '409 request_pending': 19 })
    expect(await spendingOf(sender)).toEqual({ units: 1, introductions: 1, credits: 0 })
    expect((await recipient.get('/v2/inbox?lane=requests')).body.messages).toHaveLength(1)
  })
})

describe('spec 7.2: of two errors, the answer names the earlier one in the order', () => {
  interface Fault {
    name: string
    outcome: string
    /** Two errors cannot be combined if they need different values of the same member. */
    changes: (world: World) => Record<string, unknown>
  }
  interface World {
    sender: Agent
    /** Has already received messages from the sender. */
    known: Agent
    other: Agent
    takenId: string
    blocking: Agent
    closed: Agent
    contacts: Agent
    /** Has an unanswered request from the sender. */
    asked: Agent
    /** Has an open inbox, and does not know the sender. */
    newcomer: Agent
    revoked: Agent
  }
  const ago = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString()
  const faults: Fault[] = [
    { name: 'an undeclared member', outcome: '400 invalid_request', changes: () => ({ more: 1 }) },
    { name: 'shape', outcome: '400 invalid_envelope', changes: () => ({ type: 'message' }) },
    { name: 'sender', outcome: '403 sender_mismatch', changes: ({ other }) => ({ from: other.id }) },
    { name: 'address', outcome: '403 sender_mismatch', changes: ({ other }) => ({ from: other.address }) },
    { name: 'size', outcome: '413 message_too_large', changes: () => ({ body: 'a'.repeat(33_000) }) },
    { name: 'conflict', outcome: '409 id_conflict', changes: ({ takenId }) => ({ id: takenId }) },
    { name: 'time', outcome: '400 envelope_timestamp_out_of_range', changes: () => ({ ts: ago(600) }) },
    { name: 'expired', outcome: '400 expired', changes: () => ({ ts: ago(20), ttl: 10 }) },
    { name: 'foreign', outcome: '400 recipient_not_local', changes: () => ({ to: 'nobody@example.org' }) },
    { name: 'unknown', outcome: '404 recipient_unavailable', changes: () => ({ to: `nobody@${h.system.authority}` }) },
    { name: 'revoked', outcome: '404 recipient_unavailable', changes: ({ revoked }) => ({ to: revoked.address }) },
    { name: 'board', outcome: '404 not_found', changes: () => ({ to: `board:${'a'.repeat(20)}` }) },
    { name: 'reference', outcome: '400 invalid_reference', changes: () => ({ reply_to: 'not-there' }) },
    { name: 'block', outcome: '403 admission_denied', changes: ({ blocking }) => ({ to: blocking.address }) },
    { name: 'closed', outcome: '403 admission_denied', changes: ({ closed }) => ({ to: closed.address }) },
    { name: 'contacts', outcome: '403 admission_denied', changes: ({ contacts }) => ({ to: contacts.address }) },
    { name: 'pending', outcome: '409 request_pending', changes: ({ asked }) => ({ to: asked.address }) },
    {
      name: 'introduction',
      outcome: '429 introduction_limit_reached',
      changes: ({ newcomer }) => ({ to: newcomer.address }),
    },
    { name: 'ceiling', outcome: '429 hard_limit_reached', changes: () => ({ body: 'a'.repeat(2_047) }) },
    // the sender has no units left, so this error always applies
    { name: 'units', outcome: '429 budget_exhausted', changes: () => ({}) },
  ]

  let world: World
  beforeAll(async () => {
    const [sender, known, other, blocking, closed, contacts, asked, newcomer, revoked, third] = await h.agents(10)
    const takenId = (await got(other.send(other))).body.msg_id
    await Promise.all([
      ...[known, newcomer, third].map((agent) => got(agent.patch('/v2/me', { inbox_policy: 'open' }))),
      got(closed.patch('/v2/me', { inbox_policy: 'closed' })),
      got(contacts.patch('/v2/me', { inbox_policy: 'contacts' })),
      got(blocking.put(`/v2/contacts/${sender.id}`, { state: 'blocked' })),
      got(revoked.post('/v2/me/revoke', { confirm_agent_id: revoked.id })),
    ])
    // Uses up the sender's three introductions and twenty units.
    await got(sender.send(asked))
    await got(sender.send(third))
    await got(sender.send(known, '😀'.repeat(3_998)))
    await got(sender.send(known, 'a'.repeat(1_500)))
    expect(await spendingOf(sender)).toEqual({ units: 20, introductions: 3, credits: 0 })
    world = { sender, known, other, takenId, blocking, closed, contacts, asked, newcomer, revoked }
  })

  test.each(faults)('$name alone: $outcome', async ({ outcome, changes }) => {
    expect(outcomeOf(await sendWith(changes(world)))).toBe(outcome)
  })

  const pairs = faults.flatMap((first, at) => faults.slice(at + 1, -1).map((second) => ({ first, second })))
  test('each error with each later one', async () => {
    const tried = pairs.filter(({ first, second }) => !overlap(first.changes(world), second.changes(world)))
    expect(tried.length).toBeGreaterThan(100)
    const found = await Promise.all(
      tried.map(async ({ first, second }) => {
        const answer = await sendWith({ ...second.changes(world), ...first.changes(world) })
        return `${first.name}, ${second.name}: ${outcomeOf(answer)}`
      }),
    )
    expect(found).toEqual(tried.map(({ first, second }) => `${first.name}, ${second.name}: ${first.outcome}`))
  })

  test('none of the refused messages has left a trace', async () => {
    expect(await spendingOf(world.sender)).toEqual({ units: 20, introductions: 3, credits: 0 })
    expect((await world.newcomer.get('/v2/events')).body.events).toEqual([])
  })

  /**
   * Sends a message that must be refused. Retries after a 503, because no refusal is final until the sender's charges are
   * settled (spec 3.17).
   */
  function sendWith(changes: Record<string, unknown>): Promise<HttpAnswer> {
    const { sender, known } = world
    return untilAnswered(() => sender.post('/v2/messages', { ...sender.envelope(known), ...changes }))
  }

  function overlap(first: object, second: object): boolean {
    return Object.keys(first).some((member) => Object.hasOwn(second, member))
  }
})

/** `202 inbox`, or the error. */
function laneOutcomeOf(answer: HttpAnswer): string {
  return answer.status === 202 ? `202 ${answer.body.lane}` : outcomeOf(answer)
}
