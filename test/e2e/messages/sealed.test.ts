/** The shape of an envelope, signed and sealed. Source: spec 2.4, 2.7, 6.1, 6.3, 6.4, 6.7. */
import { randomBytes } from 'node:crypto'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import { openEnvelope } from '@svc/envelope/seal.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let alice: Agent
let open: Agent

beforeAll(async () => {
  h = await shareHarness('roomy')
  ;[alice, open] = await h.agents(2)
  await got(open.patch('/v2/me', { inbox_policy: 'open' }))
})
afterAll(() => h[Symbol.asyncDispose]())

/** Changes to a valid envelope; undefined removes a member. */
type Changes = Record<string, unknown>

const INVALID = '400 invalid_envelope'
const SIG = Buffer.alloc(64, 7).toString('base64')
const KEY = Buffer.alloc(32, 7).toString('base64')

describe('spec 6.1: members of any envelope', () => {
  const rows: [string, Changes, string][] = [
    ['unchanged', {}, '202'],
    ['an undeclared member', { subject: 'hello' }, '400 invalid_request'],
    ['an undeclared member that is null', { lane: null }, '400 invalid_request'],
    ['a declared member in capitals', { TTL: 1 }, '400 invalid_request'],
    ['no id', { id: undefined }, INVALID],
    ['id a number', { id: 12_345_678 }, INVALID],
    ['id null', { id: null }, INVALID],
    ['id of 7', { id: 'a'.repeat(7) }, INVALID],
    ['id of 8', { id: randomBytes(6).toString('base64url') }, '202'],
    ['id of 80', { id: randomBytes(60).toString('base64url') }, '202'],
    ['id of 81', { id: 'a'.repeat(81) }, INVALID],
    ['id with a dot', { id: 'a.bcdefgh' }, INVALID],
    ['id with a letter beyond ASCII', { id: 'äbcdefghi' }, INVALID],
    ['id with a trailing line feed', { id: 'abcdefgh\n' }, INVALID],
    ['id with a NUL', { id: 'abcd\u0000efgh' }, INVALID],
    ['no from', { from: undefined }, INVALID],
    ['from a number', { from: 1 }, INVALID],
    ['from no base58', { from: '0'.repeat(44) }, INVALID],
    ['from a name', { from: 'alice' }, INVALID],
    ['from a board', { from: `board:${'a'.repeat(20)}` }, INVALID],
    ['from an address without an authority', { from: 'alice@' }, INVALID],
    ['from an address with a name in capitals', { from: 'Alice@host' }, INVALID],
    ['no to', { to: undefined }, INVALID],
    ['to an object', { to: {} }, INVALID],
    ['no type', { type: undefined }, INVALID],
    ['type unknown', { type: 'message' }, INVALID],
    ['type in capitals', { type: 'Request' }, INVALID],
    ['type null', { type: null }, INVALID],
    ['no ts', { ts: undefined }, INVALID],
    ['ts a number', { ts: Math.floor(Date.now() / 1000) }, INVALID],
    ['ttl 0', { ttl: 0 }, '202'],
    ['ttl 1000', { ttl: 1000 }, '202'],
    ['ttl the largest safe integer', { ttl: Number.MAX_SAFE_INTEGER }, '202'],
    ['ttl past the safe integers', { ttl: 2 ** 53 }, '202'],
    ['ttl beyond any calendar', { ttl: 1e300 }, '202'],
    ['ttl negative', { ttl: -1 }, INVALID],
    ['ttl a fraction', { ttl: 1.5 }, INVALID],
    ['ttl a string', { ttl: '60' }, INVALID],
    ['ttl null', { ttl: null }, INVALID],
    ['ttl true', { ttl: true }, INVALID],
    ['reply_to a number', { reply_to: 5 }, INVALID],
    ['reply_to null', { reply_to: null }, INVALID],
    ['thread_id an array', { thread_id: [] }, INVALID],
    ['thread_id null', { thread_id: null }, INVALID],
  ]
  test.each(rows)('%s', async (_name, changes, outcome) => {
    expect(outcomeOf(await alice.post('/v2/messages', changed(alice.envelope(open), changes)))).toBe(outcome)
  })

  test.each([
    ['ttl 1e3', '1e3', '202'],
    ['ttl 60.0', '60.0', '202'],
    ['ttl -0', '-0', '202'],
    ['ttl -1e0', '-1e0', INVALID],
    ['ttl beyond a double', '1e400', '400 invalid_json'],
  ])('%s, by value and not by spelling', async (_name, spelled, outcome) => {
    const text = JSON.stringify(alice.envelope(open, 'hello', { ttl: 7 })).replace('"ttl":7', `"ttl":${spelled}`)
    expect(outcomeOf(await alice.post('/v2/messages', text))).toBe(outcome)
  })

  test.each(['[]', '"envelope"', 'null', '5', '[{}]'])('%s is not an envelope', async (text) => {
    expect(outcomeOf(await alice.post('/v2/messages', text))).toBe(INVALID)
  })

  test.each(['', '{', '{"id":"a","id":"a"}', '{"id":"\\ud800"}', '{"__proto__":{}}'])(
    '%j is 400 invalid_json',
    async (text) => {
      const headers = { 'content-type': 'application/json' }
      expect(outcomeOf(await alice.post('/v2/messages', text, { headers }))).toBe('400 invalid_json')
    },
  )

  test('an envelope that is not sent as JSON is 415', async () => {
    const headers = { 'content-type': 'text/plain' }
    const answer = await alice.post('/v2/messages', alice.envelope(open), { headers })
    expect(outcomeOf(answer)).toBe('415 unsupported_media_type')
  })
})

describe('spec 6.1, 6.7: ts is a date-time (RFC 3339)', () => {
  const minute = (at: Date): string => at.toISOString().slice(0, 16)
  const now = new Date()
  const tomorrow = new Date(now.getTime() + 86_400_000)
  const inTwoHours = new Date(now.getTime() + 7_200_000)
  const rows: [string, string, string][] = [
    ['Z', `${minute(now)}:00Z`, '202'],
    ['t and z', `${minute(now).replace('T', 't')}:00z`, '202'],
    ['nanoseconds', `${minute(now)}:00.123456789Z`, '202'],
    ['ten digits of fraction', `${minute(now)}:00.1234567890Z`, INVALID],
    ['an offset of +02:00', `${minute(inTwoHours)}:00+02:00`, '202'],
    ['an offset of -00:00', `${minute(now)}:00-00:00`, '202'],
    ['no offset', `${minute(now)}:00`, INVALID],
    ['no seconds', `${minute(now)}Z`, INVALID],
    ['a space for the T', `${minute(now).replace('T', ' ')}:00Z`, INVALID],
    ['a date', now.toISOString().slice(0, 10), INVALID],
    ['an offset without a colon', `${minute(inTwoHours)}:00+0200`, INVALID],
    ['a comma for the point', `${minute(now)}:00,5Z`, INVALID],
    ['a point without digits', `${minute(now)}:00.Z`, INVALID],
    ['no such day', `${now.getUTCFullYear()}-02-30T00:00:00Z`, INVALID],
    ['no such month', `${now.getUTCFullYear()}-13-01T00:00:00Z`, INVALID],
    ['hour 24', `${tomorrow.toISOString().slice(0, 10)}T24:00:00Z`, INVALID],
    ['second 61', `${minute(now)}:61Z`, INVALID],
    ['a trailing line feed', `${minute(now)}:00Z\n`, INVALID],
    ['digits that are not ASCII', `${minute(now)}:0٠Z`, INVALID],
    ['words', 'now', INVALID],
    ['nothing', '', INVALID],
  ]
  test.each(rows)('%s', async (_name, ts, outcome) => {
    expect(outcomeOf(await alice.send(open, 'hello', { ts }))).toBe(outcome)
  })
})

describe('spec 6.1: either body and sig, or body_enc and ephemeral_pub', () => {
  const payload = { body: 'hello', sig: SIG, body_enc: 'AAAA', ephemeral_pub: KEY }
  const names = Object.keys(payload) as (keyof typeof payload)[]
  const subsets = Array.from({ length: 16 }, (_, bits) => names.filter((_, at) => bits & (1 << at)))
  const rows = subsets.map((subset): [string, string] => {
    const text = subset.join(' + ')
    return [text, text === 'body + sig' || text === 'body_enc + ephemeral_pub' ? '202' : INVALID]
  })
  test.each(rows)('%s: %s', async (subset, outcome) => {
    const envelope = changed(headOf(alice.envelope(open)), Object.fromEntries(names.map((name) => [name, undefined])))
    for (const name of names) if (subset.split(' + ').includes(name)) envelope[name] = payload[name]
    expect(outcomeOf(await alice.post('/v2/messages', envelope))).toBe(outcome)
  })

  test.each([null, false, 0, '', [], {}])('a body may be any JSON: %j', async (body) => {
    expect(outcomeOf(await alice.send(open, body))).toBe('202')
  })

  test.each(names.slice(1))('%s null is malformed, not absent', async (name) => {
    for (const envelope of [alice.envelope(open), rawSealed(16)]) {
      expect(outcomeOf(await alice.post('/v2/messages', { ...envelope, [name]: null }))).toBe(INVALID)
    }
  })
})

describe('spec 2.4: base64 is padded and canonical', () => {
  const bytes = Buffer.alloc(64, 0xff)
  const rows: [string, 'sig' | 'body_enc' | 'ephemeral_pub', string, string][] = [
    ['any 64 bytes: envelope signatures are for recipients', 'sig', SIG, '202'],
    ['63 bytes', 'sig', bytes.subarray(1).toString('base64'), INVALID],
    ['65 bytes', 'sig', Buffer.alloc(65).toString('base64'), INVALID],
    ['nothing', 'sig', '', INVALID],
    ['no padding', 'sig', SIG.replaceAll('=', ''), INVALID],
    ['half the padding', 'sig', SIG.replace('==', '='), INVALID],
    ['the URL-safe alphabet', 'sig', bytes.toString('base64').replaceAll('/', '_'), INVALID],
    ['a trailing line feed', 'sig', `${SIG}\n`, INVALID],
    ['white space within', 'sig', `${SIG.slice(0, 44)} ${SIG.slice(44)}`, INVALID],
    ['bits left over', 'sig', SIG.replace('w==', 'x=='), INVALID],
    ['hex', 'sig', Buffer.alloc(64).toString('hex'), INVALID],
    ['31 bytes', 'ephemeral_pub', Buffer.alloc(31).toString('base64'), INVALID],
    ['32 bytes', 'ephemeral_pub', KEY, '202'],
    ['33 bytes', 'ephemeral_pub', Buffer.alloc(33).toString('base64'), INVALID],
    ['bits left over', 'ephemeral_pub', KEY.replace('c=', 'd='), INVALID],
    ['no padding', 'ephemeral_pub', KEY.replace('=', ''), INVALID],
    ['nothing', 'body_enc', '', INVALID],
    ['1 byte', 'body_enc', 'AA==', '202'],
    ['1 byte without padding', 'body_enc', 'AA', INVALID],
    ['1 byte with extra bits', 'body_enc', 'AB==', INVALID],
    ['padding alone', 'body_enc', '====', INVALID],
    ['padding too much', 'body_enc', 'AAAA====', INVALID],
    ['padding within', 'body_enc', 'AA==AAAA', INVALID],
    ['letters beyond ASCII', 'body_enc', 'äöüß', INVALID],
  ]
  test.each(rows)('%s in %s', async (_name, member, value, outcome) => {
    const envelope = member === 'sig' ? alice.envelope(open) : rawSealed(16)
    expect(outcomeOf(await alice.post('/v2/messages', { ...envelope, [member]: value }))).toBe(outcome)
  })
})

describe('spec 6.4: the server decrypts nothing', () => {
  test('only the recipient can open a sealed message, and verifies it', async () => {
    const sealed = await alice.sealed(open, { secret: 'for the recipient' })
    await got(alice.post('/v2/messages', sealed))
    const { envelope } = (await got(open.get(`/v2/messages/${sealed.id}`))).body
    expect(envelope).toStrictEqual(sealed)
    const opened = await openEnvelope(envelope, open.key.secretKey, alice.key.publicKey)
    expect(opened.body).toEqual({ secret: 'for the recipient' })
    await expect(openEnvelope(envelope, alice.key.secretKey, alice.key.publicKey)).rejects.toThrow()
  })

  test('code points are not counted, and the decoded bytes are the cost', async () => {
    const before = await spendingOf(alice)
    await got(alice.post('/v2/messages', rawSealed(16_384)))
    expect((await spendingOf(alice)).units - before.units).toBe(16)
  })
})

test('spec 11.3: no refusal above has cost anything', async () => {
  const [carol] = await h.agents(1)
  const refused: unknown[] = [
    {},
    changed(carol.envelope(open), { ttl: -1 }),
    '[]',
    { ...carol.envelope(open), more: 1 },
  ]
  for (const body of refused) expect((await carol.post('/v2/messages', body)).status).toBe(400)
  expect(await spendingOf(carol)).toEqual({ units: 0, introductions: 0, credits: 0 })
})

function changed(envelope: object, changes: Changes): Record<string, unknown> {
  const entries = Object.entries({ ...envelope, ...changes })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function headOf({ body: _body, sig: _sig, ...head }: SignedEnvelope): Omit<SignedEnvelope, 'body' | 'sig'> {
  return head
}

function rawSealed(bytes: number): SealedEnvelope {
  return {
    ...headOf(alice.envelope(open)),
    body_enc: randomBytes(bytes).toString('base64'),
    ephemeral_pub: randomBytes(32).toString('base64'),
  }
}
