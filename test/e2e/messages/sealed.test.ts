/** The shape of an envelope, signed and sealed. Source: spec 2.7, 6.1, 6.3, 6.4. */
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

// libs/envelope/src has every form of each member: envelope.test.ts, date-time.test.ts, address.test.ts; libs/svc1/src/base64.test.ts.
describe('spec 6.1: the shape of an envelope', () => {
  const rows: [string, Changes, string][] = [
    ['unchanged', {}, '202'],
    ['an undeclared member', { subject: 'hello' }, '400 invalid_request'],
    ['no id', { id: undefined }, INVALID],
    ['ts without an offset', { ts: new Date().toISOString().slice(0, -1) }, INVALID],
    ['sig without padding', { sig: SIG.replaceAll('=', '') }, INVALID],
    ['any 64 bytes in sig: signatures of envelopes are for recipients', { sig: SIG }, '202'],
    ['both body and body_enc', { body_enc: 'AAAA' }, INVALID],
    ['a malformed reference names nothing', { reply_to: '' }, '400 invalid_reference'],
  ]
  test.each(rows)('%s', async (_name, changes, outcome) => {
    expect(outcomeOf(await alice.post('/v2/messages', changed(alice.envelope(open), changes)))).toBe(outcome)
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
