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

// services/gateway/test/auth/signature.test.ts is closer to the limit.
test.each([
  [30, '200'],
  [-90, '401 timestamp_out_of_range'],
  [90, '401 timestamp_out_of_range'],
])('spec 3.6, 11.7: HTTP timestamp tolerance: plus or minus 60 seconds: %i s', async (offset, outcome) => {
  expect(outcomeOf(await send(draft(open, { timestamp: unixSeconds() + offset })))).toBe(outcome)
})

describe('spec 11.7: HTTP nonce: 32..128 hex characters', () => {
  test.each([
    [32, '200'],
    [130, '401 unauthenticated'],
  ])('%i', async (digits, outcome) => {
    expect(outcomeOf(await send(draft(open, { nonce: idOf(digits) })))).toBe(outcome)
  })
})

describe('spec 11.7: registration challenge lifetime: 5 minutes, single use', () => {
  // services/identity/src/domain/registration.test.ts shows that the second of expiry is too late.
  test('it lasts for 300 s', async () => {
    const asked = unixSeconds()
    const { body } = await call(h.place, 'POST', '/v2/challenges', { body: { pubkey: new Agent(h.place).pubkey } })
    expect(body.expires_at).toBeGreaterThanOrEqual(asked + 300)
    expect(body.expires_at).toBeLessThanOrEqual(unixSeconds() + 300)
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
    [32, '201'],
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
    ['80', () => idOf(80), '202'],
    ['81', () => idOf(81), '400 invalid_envelope'],
  ])('%s', async (_, id, outcome) => {
    expect(outcomeOf(await rich.send(open, 'hello', { id: id() }))).toBe(outcome)
  })
})

/** Sizes of the JSON text of a body. The quotes count as two characters. */
const SIZES: [string, string, JsonValue, string][] = [
  ['DM size', '4000 characters outside the BMP, 15.6 KiB', textOf(3_998, '\u{1f600}'), '202'],
  ['DM size', '4001 characters outside the BMP', textOf(3_999, '\u{1f600}'), '413 message_too_large'],
  ['board post size', '32 KiB', textOf((32 * KIB - 2) / 3, '€'), '202'],
  ['board post size', '32 KiB and a byte', `${textOf((32 * KIB - 2) / 3, '€')}a`, '413 message_too_large'],
]

describe('spec 11.7: DM size 4000 characters and 16 KiB, board post size 16000 characters and 32 KiB', () => {
  test.each(SIZES)('%s: %s', async (row, _, body, outcome) => {
    const to = row === 'DM size' ? open : `board:${board}`
    expect(outcomeOf(await rich.send(to, body))).toBe(outcome)
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

// services/messaging/src/domain/acceptance.test.ts tests to the millisecond.
test.each([
  ['4 minutes ago', -240_000, '202'],
  ['6 minutes ago', -360_000, '400 envelope_timestamp_out_of_range'],
  ['2 minutes ahead', 120_000, '400 envelope_timestamp_out_of_range'],
])('spec 6.7, 11.7: initial message timestamp: %s', async (_, offsetMs, outcome) => {
  const ts = new Date(Date.now() + offsetMs).toISOString()
  expect(outcomeOf(await rich.send(open, 'hello', { ts }))).toBe(outcome)
})

test.each([
  ['the retention, if ttl is absent', undefined],
  ['the ttl, which counts from ts, if it is shorter', 30 * DAY_SECONDS - 60],
  ['the retention, if ttl is longer', 31 * DAY_SECONDS],
])('spec 6.8, 11.7: message expiry: %s', async (_, ttl) => {
  const ts = unixSeconds() - 10
  const { body } = await got(rich.send(open, 'hello', { ts: new Date(ts * 1_000).toISOString(), ...(ttl && { ttl }) }))
  const { created_at, expires_at } = (await got(rich.get(`/v2/messages/${body.msg_id}`))).body
  expect(expires_at).toBe(Math.min(created_at + 30 * DAY_SECONDS, ts + (ttl ?? Number.POSITIVE_INFINITY)))
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
