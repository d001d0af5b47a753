/** Units, credits, introductions. Source: spec 4.2, 5.10, 11.2 to 11.6. */
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { type Harness, startHarness } from '../../support/system/harness.ts'
import { type Operator, startOperator } from '../../support/system/operator.ts'
import { ONE_OF_EACH } from '../../support/system/system.ts'

const FREE = 20
const CEILING = 30
const INTRODUCTIONS = 3
const DAY_MS = 86_400_000

let h: Harness
let operator: Operator
/** Has an open inbox. */
let open: Agent

beforeAll(async () => {
  h = await startHarness({
    replicas: ONE_OF_EACH,
    env: {
      SVC_DAILY_FREE_UNITS: String(FREE),
      SVC_DAILY_HARD_LIMIT: String(CEILING),
      SVC_DAILY_INTRODUCTIONS: String(INTRODUCTIONS),
    },
  })
  operator = await startOperator(h.system)
  open = await openAgent()
})
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]()
  await h[Symbol.asyncDispose]()
})

/** A body of exactly this many KiB in at most 4,000 code points, so at most 11 KiB. */
function bodyOf(units: number): JsonValue {
  const bytes = units * 1024 - 2 // the quotes take two bytes
  return '€'.repeat(Math.floor(bytes / 3)) + 'a'.repeat(bytes % 3)
}

async function openAgent(): Promise<Agent> {
  const [agent] = await h.agents(1)
  await got(agent.patch('/v2/me', { inbox_policy: 'open' }))
  return agent
}

/** Sends to `open` until this many units are used. */
async function spend(agent: Agent, units: number): Promise<void> {
  const left = units - (await spendingOf(agent)).units
  for (let rest = left; rest > 0; rest -= 7) await got(agent.send(open, bodyOf(Math.min(rest, 7))))
  expect((await spendingOf(agent)).units).toBe(units)
}

function sendPatiently(from: Agent, to: Agent, body: JsonValue = 'hello'): Promise<HttpAnswer> {
  return postPatiently(from, from.envelope(to, body))
}

/**
 * Retries until budget decides. A refusal is not final while running operations may still release units: the answer is then
 * 503, and the client retries (spec 3.17, 13.2). If a retry finds the message, an earlier attempt sent it.
 */
async function postPatiently(from: Agent, envelope: object, url: string = from.place.url): Promise<HttpAnswer> {
  let attempts = 0
  const answer = await untilAnswered(() => {
    attempts += 1
    return from.post('/v2/messages', envelope, { url })
  })
  return attempts > 1 && answer.status === 200 ? { ...answer, status: 202 } : answer
}

/** Checks that a refused or free operation changes no part of the budget. */
async function unchanged(agent: Agent, work: () => Promise<unknown>): Promise<void> {
  const before = (await got(agent.get('/v2/budget'))).body
  await work()
  expect((await got(agent.get('/v2/budget'))).body).toStrictEqual(before)
}

/** @param sinceMs a time before the request. Adding `Retry-After` to some moment between then and now must give midnight. */
function expectRetryAfterMidnight({ headers }: HttpAnswer, sinceMs: number): void {
  const seconds = Number(headers.get('retry-after'))
  expect(Number.isInteger(seconds)).toBe(true)
  const [firstMs, lastMs] = [sinceMs + (seconds - 5) * 1_000, Date.now() + (seconds + 5) * 1_000]
  expect(Math.floor(lastMs / DAY_MS) * DAY_MS).toBeGreaterThan(firstMs)
}

describe('spec 11.6: GET /v2/budget', () => {
  test('exactly the specified members, for an agent that has done nothing', async () => {
    const [alice] = await h.agents(1)
    const nextMidnight = (): number => (Math.floor(Date.now() / DAY_MS) + 1) * 86_400
    const before = nextMidnight()
    const { body } = await got(alice.get('/v2/budget'))
    expect([before, nextMidnight()]).toContain(body.resets_at)
    expect(body).toStrictEqual({
      daily_free_units: FREE,
      daily_hard_limit: CEILING,
      used_units: 0,
      credit_balance: 0,
      used_introductions: 0,
      daily_introduction_limit: INTRODUCTIONS,
      resets_at: body.resets_at,
      vote_bonus: 0,
    })
  })
})

describe('spec 11.2: operations that cost units', () => {
  const steps: [string, (agent: Agent, other: Agent) => Promise<HttpAnswer>, number][] = [
    ['a policy', (agent) => agent.patch('/v2/me', { inbox_policy: 'open' }), 1],
    ['the policy that is already set', (agent) => agent.patch('/v2/me', { inbox_policy: 'open' }), 0],
    ['nothing at all', (agent) => agent.patch('/v2/me', {}), 0],
    ['discoverable', (agent) => agent.patch('/v2/me', { discoverable: true }), 1],
    ['closing the inbox', (agent) => agent.patch('/v2/me', { inbox_policy: 'closed' }), 0],
    ['closing it again', (agent) => agent.patch('/v2/me', { inbox_policy: 'closed' }), 0],
    [
      'opening and hiding in one request',
      (agent) => agent.patch('/v2/me', { inbox_policy: 'requests', discoverable: false }),
      1,
    ],
    ['closing and discoverable', (agent) => agent.patch('/v2/me', { inbox_policy: 'closed', discoverable: true }), 1],
    [
      'closing an inbox that is already closed',
      (agent) => agent.patch('/v2/me', { inbox_policy: 'closed', discoverable: true }),
      0,
    ],
    ['a contact acceptance', (agent, other) => agent.put(`/v2/contacts/${other.id}`, { state: 'accepted' }), 1],
    ['a block', (agent, other) => agent.put(`/v2/contacts/${other.id}`, { state: 'blocked' }), 0],
    ['a contact removed', (agent, other) => agent.put(`/v2/contacts/${other.id}`, { state: 'none' }), 0],
    ['1,024 bytes', (agent) => agent.send(open, bodyOf(1)), 1],
    ['3,072 bytes', (agent) => agent.send(open, bodyOf(3)), 3],
    ['to oneself', (agent) => agent.send(agent, bodyOf(2)), 2],
    ['a list', (agent) => agent.get('/v2/inbox'), 0],
    ['the budget itself', (agent) => agent.get('/v2/budget'), 0],
    ['revoking', (agent) => agent.post('/v2/me/revoke', { confirm_agent_id: agent.id }), 0],
  ]
  test('one agent, one operation after another', async () => {
    const [agent, other] = await h.agents(2)
    let used = 0
    for (const [name, work, units] of steps) {
      await got(work(agent, other))
      used += units
      if (name !== 'revoking') expect(`${name}: ${(await spendingOf(agent)).units}`).toBe(`${name}: ${used}`)
    }
  })
})

describe('spec 11.3: budget_exhausted if free units and credits do not cover the cost', () => {
  test('the last free unit is spent, and one more is refused', async () => {
    const [alice] = await h.agents(1)
    await spend(alice, FREE - 2)
    await unchanged(alice, async () => {
      expect(outcomeOf(await sendPatiently(alice, open, bodyOf(3)))).toBe('429 budget_exhausted')
    })
    expect(outcomeOf(await alice.send(open, bodyOf(2)))).toBe('202')
    await unchanged(alice, async () => {
      const sinceMs = Date.now()
      const answer = await sendPatiently(alice, open)
      expect(outcomeOf(answer)).toBe('429 budget_exhausted')
      expectRetryAfterMidnight(answer, sinceMs)
    })
  })

  test('a retry of an accepted message stays 200, and a refused message is accepted after credits are granted', async () => {
    const [alice] = await h.agents(1)
    const first = alice.envelope(open)
    await got(alice.post('/v2/messages', first))
    await spend(alice, FREE)
    const refused = alice.envelope(open)
    expect(outcomeOf(await postPatiently(alice, refused))).toBe('429 budget_exhausted')
    expect(outcomeOf(await alice.post('/v2/messages', first))).toBe('200')
    await operator.grant(alice.id, 1, `retry-${alice.id}`)
    expect(outcomeOf(await alice.post('/v2/messages', refused))).toBe('202')
    expect(await spendingOf(alice)).toEqual({ units: FREE + 1, introductions: 1, credits: 0 })
  })
})

describe('spec 11.1, 11.4: credits cover units above the free allowance', () => {
  test('free units are used first, then credits, and never more than the ceiling', async () => {
    const [alice] = await h.agents(1)
    await operator.grant(alice.id, 100, `credits-${alice.id}`)
    await spend(alice, FREE - 1)
    expect((await spendingOf(alice)).credits).toBe(100)
    await got(alice.send(open, bodyOf(4))) // one free unit, three credits
    expect(await spendingOf(alice)).toMatchObject({ units: FREE + 3, credits: 97 })
    await unchanged(alice, async () => {
      const sinceMs = Date.now()
      const answer = await sendPatiently(alice, open, bodyOf(8))
      expect(outcomeOf(answer)).toBe('429 hard_limit_reached')
      expectRetryAfterMidnight(answer, sinceMs)
    })
    await got(alice.send(open, bodyOf(7)))
    expect(await spendingOf(alice)).toMatchObject({ units: CEILING, credits: 90 })
    await unchanged(alice, async () => {
      expect(outcomeOf(await sendPatiently(alice, open))).toBe('429 hard_limit_reached')
      const listed = await untilAnswered(() => alice.patch('/v2/me', { discoverable: true }))
      expect(outcomeOf(listed)).toBe('429 hard_limit_reached')
    })
  })
})

describe('spec 11.5: an introduction is the first accepted DM ever from this sender to this other agent', () => {
  const rows: [string, (alice: Agent, bob: Agent) => Promise<unknown>, number][] = [
    ['to a stranger under policy requests', (alice, bob) => got(alice.send(bob)), 1],
    ['again to the same agent', async (alice) => [await got(alice.send(open)), await got(alice.send(open))], 1],
    ['to oneself', (alice) => got(alice.send(alice)), 0],
    [
      'an answer to an agent that introduced itself: it is the first DM from this sender',
      async (alice) => {
        const [carol] = await h.agents(1)
        const { msg_id } = (await got(carol.send(alice))).body
        await got(carol.patch('/v2/me', { inbox_policy: 'open' }))
        await got(alice.send(carol, 'hello', { reply_to: msg_id }))
      },
      1,
    ],
    [
      'a rejected DM, whatever the reason',
      async (alice, bob) => {
        await got(bob.put(`/v2/contacts/${alice.id}`, { state: 'blocked' }))
        await alice.send(bob)
        await alice.send(open, 'hello', { reply_to: 'not-there' })
        await alice.send(open, 'a'.repeat(5_000))
        await alice.send(`nobody@${h.system.authority}`)
      },
      0,
    ],
    [
      'the first accepted DM, after a rejected one',
      async (alice, bob) => {
        await got(bob.put(`/v2/contacts/${alice.id}`, { state: 'blocked' }))
        await alice.send(bob)
        await got(bob.put(`/v2/contacts/${alice.id}`, { state: 'none' }))
        await got(alice.send(bob))
      },
      1,
    ],
  ]
  test.each(rows)('%s', async (_name, work, introductions) => {
    const [alice, bob] = await h.agents(2)
    await work(alice, bob)
    expect((await spendingOf(alice)).introductions).toBe(introductions)
  })

  test('past the limit strangers are refused, and known agents are not', async () => {
    const [alice] = await h.agents(1)
    const others = await h.agents(INTRODUCTIONS)
    await Promise.all(others.map((other) => got(other.patch('/v2/me', { inbox_policy: 'open' }))))
    for (const other of others) await got(alice.send(other))
    const [stranger] = await h.agents(1)
    await unchanged(alice, async () => {
      const sinceMs = Date.now()
      const answer = await sendPatiently(alice, stranger)
      expect(outcomeOf(answer)).toBe('429 introduction_limit_reached')
      expectRetryAfterMidnight(answer, sinceMs)
      await got(stranger.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }))
      expect(outcomeOf(await sendPatiently(alice, stranger))).toBe('429 introduction_limit_reached')
    })
    expect((await stranger.get('/v2/events')).body.events).toEqual([])
    for (const other of [...others, alice]) expect(outcomeOf(await alice.send(other))).toBe('202')
    expect((await spendingOf(alice)).introductions).toBe(INTRODUCTIONS)
  })
})

/** Operations that are free (spec 11.2), in an order in which each of them can change something. */
const FREE_OPERATIONS: [string, (alice: Agent, bob: Agent) => Promise<HttpAnswer>][] = [
  ['blocking', (alice, bob) => alice.put(`/v2/contacts/${bob.id}`, { state: 'blocked' })],
  ['removing a contact', (alice, bob) => alice.put(`/v2/contacts/${bob.id}`, { state: 'none' })],
  ['closing the inbox', (alice) => alice.patch('/v2/me', { inbox_policy: 'closed' })],
  ['a change of nothing', (alice) => alice.patch('/v2/me', { inbox_policy: 'closed', discoverable: false })],
  ['the identity', (alice) => alice.get('/v2/me')],
  ['the inbox', (alice) => alice.get('/v2/inbox')],
  ['the requests', (alice) => alice.get('/v2/inbox?lane=requests')],
  ['the export', (alice) => alice.get('/v2/export')],
  ['the events', (alice) => alice.get('/v2/events')],
  ['the contacts', (alice) => alice.get('/v2/contacts')],
  ['the directory', (alice) => alice.get('/v2/agents')],
]

describe('spec 11.2: what is allowed with an exhausted budget', () => {
  test('free operations work; operations that cost units are refused and change nothing', async () => {
    const [alice, bob] = await h.agents(2)
    const { msg_id } = (await got(bob.send(alice))).body
    await got(bob.send(bob))
    await spend(alice, FREE)
    await unchanged(alice, async () => {
      const refused = (call: () => Promise<HttpAnswer>): Promise<string> => untilAnswered(call).then(outcomeOf)
      const accept = (): Promise<HttpAnswer> => alice.put(`/v2/contacts/${bob.id}`, { state: 'accepted' })
      expect(await refused(accept)).toBe('429 budget_exhausted')
      expect((await alice.get('/v2/contacts')).body.contacts).toEqual([])
      expect((await alice.get('/v2/inbox')).body.messages).toEqual([])
      expect(await refused(() => alice.patch('/v2/me', { inbox_policy: 'open' }))).toBe('429 budget_exhausted')
      expect((await alice.get('/v2/me')).body).toMatchObject({ inbox_policy: 'requests', discoverable: false })
      // Closing alone is free. Closing together with another change is not (spec 5.10).
      const both = { inbox_policy: 'closed', discoverable: true }
      expect(await refused(() => alice.patch('/v2/me', both))).toBe('429 budget_exhausted')
      expect((await alice.get('/v2/me')).body.inbox_policy).toBe('requests')

      for (const [name, work] of FREE_OPERATIONS) {
        expect(`${name}: ${outcomeOf(await work(alice, bob))}`).toBe(`${name}: 200`)
      }
      for (const path of ['', '/receipts']) expect((await alice.get(`/v2/messages/${msg_id}${path}`)).status).toBe(200)
      expect(outcomeOf(await alice.post(`/v2/messages/${msg_id}/ack`))).toBe('200')
    })
    expect(outcomeOf(await alice.post('/v2/me/revoke', { confirm_agent_id: alice.id }))).toBe('200')
  })
})
