/**
 * The limits of spec 11.7, row by row, over HTTP: the last accepted value and the first refused one. Streams and webhooks have their
 * own tests, and rates.test.ts has the request rates.
 */
import { randomBytes } from 'node:crypto'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { untilAnswered } from '../../support/client/retrying.ts'
import { draft, send, unixSeconds } from '../../support/client/signed-request.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'
import { type Operator, startOperator } from '../../support/system/operator.ts'

const KIB = 1024
const DAY_SECONDS = 86_400
const MANY_CREDITS = 10_000

let h: SharedHarness
let operator: Operator
/** Has an open inbox. */
let open: Agent
/** Has credits, so that only the tested limit can refuse it. */
let rich: Agent
let board: string

beforeAll(async () => {
  h = await shareHarness('usual')
  operator = await startOperator(h.system)
  ;[open, rich] = await h.agents(2)
  await got(open.patch('/v2/me', { inbox_policy: 'open' }))
  await operator.grant(rich.id, MANY_CREDITS, 'rich')
  board = (await got(rich.post('/v2/boards', { title: 'limits', visibility: 'public', posting: 'anyone' }))).body.id
})
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]()
  await h[Symbol.asyncDispose]()
})

/** Retries until request and answer are in the same second, so that the second is known. */
async function withinOneSecond(ask: (now: number) => Promise<HttpAnswer>): Promise<HttpAnswer> {
  for (;;) {
    const now = unixSeconds()
    const answer = await ask(now)
    if (unixSeconds() === now) return answer
  }
}

/** A slower answer proves nothing, so the request is repeated. */
const QUICK_MS = 1_000

async function quickly(ask: (nowMs: number) => Promise<HttpAnswer>): Promise<HttpAnswer> {
  for (;;) {
    const nowMs = Date.now()
    const answer = await ask(nowMs)
    if (Date.now() - nowMs < QUICK_MS) return answer
  }
}

function idOf(length: number): string {
  return randomBytes(length).toString('hex').slice(0, length)
}

function textOf(characters: number, character = 'a'): string {
  return character.repeat(characters)
}

describe('spec 11.7: list page size: 1..100, default 50', () => {
  // requests.test.ts has each list and each boundary
  test('a page has 50 items by default, and 100 at most', async () => {
    const [alice] = await h.agents(1)
    await operator.grant(alice.id, 100, 'pages')
    for (let sent = 0; sent < 101; sent += 20)
      await Promise.all(Array.from({ length: 20 }, () => got(alice.send(alice, sent))))
    const sizeOf = async (path: string): Promise<number> => (await got(alice.get(path))).body.messages.length
    expect(await sizeOf('/v2/inbox')).toBe(50)
    expect(await sizeOf('/v2/inbox?limit=100')).toBe(100)
  })
})

describe('spec 3.6, 11.7: HTTP timestamp tolerance: plus or minus 60 seconds', () => {
  test.each([
    [-60, '200'],
    [60, '200'],
    [-61, '401 timestamp_out_of_range'],
    [61, '401 timestamp_out_of_range'],
  ])('%i s', async (offset, outcome) => {
    const answer = await withinOneSecond((now) => send(draft(open, { timestamp: now + offset })))
    expect(outcomeOf(answer)).toBe(outcome)
  })
})

describe('spec 11.7: HTTP nonce: 32..128 hex characters', () => {
  test.each([
    [32, '200'],
    [128, '200'],
    [30, '401 unauthenticated'],
    [31, '401 unauthenticated'],
    [129, '401 unauthenticated'],
    [130, '401 unauthenticated'],
  ])('%i', async (digits, outcome) => {
    expect(outcomeOf(await send(draft(open, { nonce: idOf(digits) })))).toBe(outcome)
  })
})

describe('spec 11.7: registration challenge lifetime: 5 minutes, single use', () => {
  // services/identity/src/domain/registration.test.ts shows that the second of expiry is too late.
  test('it lasts for 300 s', async () => {
    const agent = new Agent(h.place)
    let asked = 0
    const { body } = await withinOneSecond((now) => {
      asked = now
      return call(h.place, 'POST', '/v2/challenges', { body: { pubkey: agent.pubkey } })
    })
    expect(body.expires_at).toBe(asked + 300)
  })

  test('it is valid for one registration', async () => {
    const agent = new Agent(h.place)
    const work = await agent.solve()
    const registration = { name: agent.name, pubkey: agent.pubkey, ...work }
    expect(outcomeOf(await agent.post('/v2/agents/register', registration))).toBe('201')
    const again = await agent.post('/v2/agents/register', { ...registration, name: `${agent.name}-2` })
    expect(outcomeOf(again)).toBe('409 challenge_consumed')
  })
})

describe('spec 2.8, 11.7: name length: 3..32', () => {
  test.each([
    [3, '201'],
    [32, '201'],
    [2, '400 invalid_name'],
    [33, '400 invalid_name'],
  ])('%i', async (length, outcome) => {
    const agent = new Agent(h.place, idOf(length))
    const work = await agent.solve()
    const answer = await agent.post('/v2/agents/register', { name: agent.name, pubkey: agent.pubkey, ...work })
    expect(outcomeOf(answer)).toBe(outcome)
  })
})

describe('spec 2.10, 11.7: envelope id: 8..80 characters of A-Za-z0-9_-', () => {
  test.each([
    ['8', () => idOf(8), '202'],
    ['80', () => idOf(80), '202'],
    ['every character that is allowed', () => `${idOf(12)}AZaz09_-`, '202'],
    ['7', () => idOf(7), '400 invalid_envelope'],
    ['81', () => idOf(81), '400 invalid_envelope'],
    ['a full stop', () => `${idOf(12)}.`, '400 invalid_envelope'],
    ['a trailing line feed', () => `${idOf(12)}\n`, '400 invalid_envelope'],
  ])('%s', async (_, id, outcome) => {
    expect(outcomeOf(await rich.send(open, 'hello', { id: id() }))).toBe(outcome)
  })
})

/** Sizes of the JSON text of a body. The quotes count as two characters. */
const SIZES: [string, string, JsonValue, string][] = [
  ['DM size', '4000 characters', textOf(3_998), '202'],
  ['DM size', '4001 characters', textOf(3_999), '413 message_too_large'],
  ['DM size', '4000 characters outside the BMP, 15.6 KiB', textOf(3_998, '\u{1f600}'), '202'],
  ['DM size', '4001 characters outside the BMP', textOf(3_999, '\u{1f600}'), '413 message_too_large'],
  ['board post size', '16000 characters', textOf(15_998), '202'],
  ['board post size', '16001 characters', textOf(15_999), '413 message_too_large'],
  ['board post size', '32 KiB', textOf((32 * KIB - 2) / 3, '€'), '202'],
  ['board post size', '32 KiB and a byte', `${textOf((32 * KIB - 2) / 3, '€')}a`, '413 message_too_large'],
]

describe('spec 11.7: DM size 4000 characters and 16 KiB, board post size 16000 characters and 32 KiB', () => {
  test.each(SIZES)('%s: %s', async (row, _, body, outcome) => {
    const to = row === 'DM size' ? open : `board:${board}`
    expect(outcomeOf(await rich.send(to, body))).toBe(outcome)
  })

  // A signed DM of 16 KiB would need more than four bytes per character.
  test.each([
    ['DM', 16 * KIB, '202'],
    ['DM', 16 * KIB + 1, '413 message_too_large'],
    ['board post', 32 * KIB, '202'],
    ['board post', 32 * KIB + 1, '413 message_too_large'],
  ])('of a sealed %s, the decoded bytes count: %i', async (kind, bytes, outcome) => {
    const { body_enc: _enc, ...sealed } = await rich.sealed(open)
    const to = kind === 'DM' ? open.address : `board:${board}`
    const answer = await rich.post('/v2/messages', {
      ...sealed,
      id: idOf(24),
      to,
      body_enc: randomBytes(bytes).toString('base64'),
    })
    expect(outcomeOf(answer)).toBe(outcome)
  })
})

describe('spec 11.7: whole request: 96 KiB', () => {
  test.each([
    [96 * KIB, '202'],
    [96 * KIB + 1, '413 body_too_large'],
  ])('%i bytes', async (bytes, outcome) => {
    const body = JSON.stringify(rich.envelope(open)).padEnd(bytes)
    expect(outcomeOf(await rich.post('/v2/messages', body))).toBe(outcome)
  })
})

describe('spec 11.7: initial message timestamp: at most 5 minutes in the past and at most 1 minute ahead', () => {
  // services/messaging/src/domain/acceptance.test.ts tests to the millisecond. Here, time passes between this clock and the
  // check.
  test.each([
    ['5 minutes ago, less the time that the request may take', -300_000 + QUICK_MS, '202'],
    ['more than 5 minutes ago', -300_001, '400 envelope_timestamp_out_of_range'],
    ['1 minute ahead', 60_000, '202'],
    ['more than 1 minute ahead', 60_001 + QUICK_MS, '400 envelope_timestamp_out_of_range'],
  ])('%s', async (_, offsetMs, outcome) => {
    const answer = await quickly((nowMs) => rich.send(open, 'hello', { ts: new Date(nowMs + offsetMs).toISOString() }))
    expect(outcomeOf(answer)).toBe(outcome)
  })
})

describe('spec 6.8, 11.7: message expiry', () => {
  test.each([
    ['the retention, if ttl is absent', undefined, 30 * DAY_SECONDS],
    ['the retention, if ttl is 0', 0, 30 * DAY_SECONDS],
    ['the ttl, if it is shorter', 30 * DAY_SECONDS - 60, 30 * DAY_SECONDS - 60],
    ['the retention, if ttl is longer', 31 * DAY_SECONDS, 30 * DAY_SECONDS],
  ])('%s', async (_, ttl, seconds) => {
    const { body: message } = await withinOneSecond(async (now) => {
      const ts = new Date(now * 1000).toISOString()
      const { body } = await got(rich.send(open, 'hello', ttl === undefined ? { ts } : { ts, ttl }))
      return got(rich.get(`/v2/messages/${body.msg_id}`))
    })
    expect(message.expires_at - message.created_at).toBe(seconds)
  })

  test.each([
    [-1, '400 invalid_envelope'],
    [0, '202'],
    [0.5, '400 invalid_envelope'],
  ])('a ttl of %d', async (ttl, outcome) => {
    expect(outcomeOf(await rich.send(open, 'hello', { ttl }))).toBe(outcome)
  })
})

describe('spec 6.8: expired messages: excluded from reads at once', () => {
  test('it is not found from the second in which it expires', async () => {
    // a message that already expired on its way is sent again
    const { id, overSeconds } = await eventually(async () => {
      const nowSeconds = unixSeconds()
      const ts = new Date(nowSeconds * 1000).toISOString()
      const answer = await rich.send(open, 'short-lived', { ts, ttl: 3 })
      return answer.status === 202 && { id: answer.body.msg_id, overSeconds: nowSeconds + 3 }
    })
    await eventually(() => unixSeconds() >= overSeconds)
    expect(outcomeOf(await open.get(`/v2/messages/${id}`))).toBe('404 not_found')
    const inbox = await got(open.get(`/v2/inbox?thread_id=${id}`))
    expect(inbox.body.messages).toEqual([])
  })
})

describe('spec 11.7: board title 1..120 characters, board description up to 2000 characters', () => {
  test.each([
    ['title', 1, '201'],
    ['title', 120, '201'],
    ['title', 0, '400 invalid_request'],
    ['title', 121, '400 invalid_request'],
    ['description', 0, '201'],
    ['description', 2_000, '201'],
    ['description', 2_001, '400 invalid_request'],
  ])('%s of %i code points', async (member, length, outcome) => {
    const value = textOf(length, '\u{1f600}')
    expect(outcomeOf(await rich.post('/v2/boards', { title: 'limits', visibility: 'private', [member]: value }))).toBe(
      outcome,
    )
  })
})

describe('spec 11.7: boards per owner: 20', () => {
  test('the twentieth is created, and the next is not', async () => {
    const [owner] = await h.agents(1)
    await operator.grant(owner.id, 1_000, 'boards')
    const create = (): Promise<HttpAnswer> => owner.post('/v2/boards', { title: 'one of many', visibility: 'unlisted' })
    for (let made = 0; made < 20; made += 1) expect(outcomeOf(await create())).toBe('201')
    expect(outcomeOf(await create())).toBe('409 board_limit')
    expect(await spendingOf(owner)).toMatchObject({ units: 200 })
  })
})

describe('spec 11.7: membership records per board: 100', () => {
  test('spec 8.7: readers, writers and banned agents count, the owner does not; the hundredth is set, and the next is not', async () => {
    const [owner, last] = await h.agents(2)
    await operator.grant(owner.id, 1_000, 'members')
    const path = `/v2/boards/${(await got(owner.post('/v2/boards', { title: 'full', visibility: 'public' }))).body.id}`
    const roles = ['reader', 'writer', 'banned']
    const others: Agent[] = []
    while (others.length < 100) others.push(...(await h.agents(20))) // not all at once, because the machine may be slow
    for (const [at, other] of others.entries())
      await got(owner.put(`${path}/members/${other.id}`, { role: roles[at % roles.length] }))
    expect((await got(owner.get(`${path}/members`))).body.members).toHaveLength(101)
    for (const role of roles)
      expect(outcomeOf(await owner.put(`${path}/members/${last.id}`, { role }))).toBe('409 membership_limit')
    expect(outcomeOf(await last.put(`${path}/members/${last.id}`, { role: 'reader' }))).toBe('409 membership_limit')
    // An existing record can still change, and removing one makes room.
    await got(owner.put(`${path}/members/${others[0]?.id}`, { role: 'writer' }))
    await got(owner.put(`${path}/members/${others[1]?.id}`, { role: 'none' }))
    expect(outcomeOf(await last.put(`${path}/members/${last.id}`, { role: 'reader' }))).toBe('200')
  })
})

describe('spec 11.1, 11.7: units and introductions per UTC day', () => {
  /** A sealed message of this many KiB, at most 16. It costs as many units. */
  async function spend(agent: Agent, units: number): Promise<void> {
    for (let left = units; left > 0; left -= 16) {
      const { body_enc: _enc, ...sealed } = await agent.sealed(open)
      const body_enc = randomBytes(Math.min(left, 16) * KIB).toString('base64')
      await got(agent.post('/v2/messages', { ...sealed, body_enc }))
    }
  }

  /** Retries until the refusal is final. The answer is 503 while earlier charges are not settled. */
  function sendOrBeRefused(from: Agent, to: Agent): Promise<HttpAnswer> {
    const envelope = from.envelope(to)
    return untilAnswered(() => from.post('/v2/messages', envelope))
  }

  test('free units per UTC day: 100: the hundredth is spent, and the next is refused', async () => {
    const [alice] = await h.agents(1)
    await spend(alice, 99)
    expect(outcomeOf(await alice.send(open))).toBe('202')
    expect(outcomeOf(await sendOrBeRefused(alice, open))).toBe('429 budget_exhausted')
    expect(await spendingOf(alice)).toMatchObject({ units: 100 })
  })

  test('hard ceiling of units per UTC day: 1000: credits reach it, and no further', async () => {
    const [alice] = await h.agents(1)
    await operator.grant(alice.id, 2_000, 'ceiling')
    await spend(alice, 999)
    expect(outcomeOf(await alice.send(open))).toBe('202')
    expect(outcomeOf(await sendOrBeRefused(alice, open))).toBe('429 hard_limit_reached')
    expect(await spendingOf(alice)).toMatchObject({ units: 1_000, credits: 1_100 })
  })

  test('introductions per UTC day: 10: the tenth stranger is reached, and the next is not', async () => {
    const [alice, ...strangers] = await h.agents(12)
    const answers = []
    for (const stranger of strangers) answers.push(await sendOrBeRefused(alice, stranger))
    expect(countOutcomes(answers)).toEqual({ 202: 10, '429 introduction_limit_reached': 1 })
    expect(answers.at(-1)?.status).toBe(429)
  })
})
