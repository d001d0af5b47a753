import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent } from '../../support/client/agent.ts'
import { countOutcomes, got, outcomeOf, spendingOf } from '../../support/client/answers.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
/** Has an open inbox. */
let open: Agent

beforeAll(async () => {
  h = await shareHarness('usual')
  ;[open] = await h.agents(1)
  await got(open.patch('/v2/me', { inbox_policy: 'open' }))
})
afterAll(() => h[Symbol.asyncDispose]())

describe('spec 7.3: the answer', () => {
  test('a new message is 202 with exactly the specified members', async () => {
    const [alice, bob] = await h.agents(2)
    const envelope = alice.envelope(bob)
    const answer = await alice.post('/v2/messages', envelope)
    expect(outcomeOf(answer)).toBe('202')
    expect(answer.body).toStrictEqual({
      msg_id: envelope.id,
      status: 'accepted',
      lane: 'requests',
      duplicate: false,
      sender_authenticated: true,
    })
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
  })

  test('spec 6.4: a sealed message is authenticated by the request, arrives as it was sent, and is 202', async () => {
    const [alice] = await h.agents(1)
    const envelope = await alice.sealed(open, { secret: 'only for the recipient' })
    const answer = await alice.post('/v2/messages', envelope)
    expect(answer).toMatchObject({ status: 202, body: { msg_id: envelope.id, sender_authenticated: true } })
    expect((await open.get(`/v2/messages/${envelope.id}`)).body.envelope).toStrictEqual(envelope)
  })
})

describe('spec 3.19, 7.4: an identical retry is 200 with duplicate true, and costs nothing', () => {
  const body = { n: 100, text: 'hello', list: [1.5, { b: 1, a: 2 }] }
  const spellings: [string, (envelope: SignedEnvelope) => string][] = [
    ['members in another order', (envelope) => JSON.stringify(reversed({ ...envelope, body: reversed(body) }))],
    ['other escapes', (envelope) => JSON.stringify(envelope).replace('"hello"', '"\\u0068e\\u006clo"')],
    [
      'numbers written in another form',
      (envelope) => JSON.stringify(envelope).replace('"n":100', '"n":1.0E+2').replace('[1.5', '[15e-1'),
    ],
  ]

  test.each(spellings)('%s', async (_name, spell) => {
    const [alice] = await h.agents(1)
    const envelope = alice.envelope(open, body)
    expect(outcomeOf(await alice.post('/v2/messages', envelope))).toBe('202')
    const before = await spendingOf(alice)
    for (const url of h.system.urls) {
      const answer = await alice.post('/v2/messages', spell(envelope), { url })
      expect(answer.status).toBe(200)
      expect(answer.body).toStrictEqual({
        msg_id: envelope.id,
        status: 'accepted',
        lane: 'inbox',
        duplicate: true,
        sender_authenticated: true,
      })
    }
    expect(await spendingOf(alice)).toEqual(before)
  })

  test('reads return the text of the first', async () => {
    const [alice] = await h.agents(1)
    const envelope = alice.envelope(open, { b: 1, a: 2 })
    await got(alice.post('/v2/messages', envelope))
    await got(alice.post('/v2/messages', reversed({ ...envelope, body: { a: 2, b: 1 } })))
    expect((await open.get(`/v2/messages/${envelope.id}`)).text).toContain(JSON.stringify(envelope))
  })

  test.each([
    ['blocked the sender', (to: Agent, from: Agent) => to.put(`/v2/contacts/${from.id}`, { state: 'blocked' })],
    ['was revoked', (to: Agent) => to.post('/v2/me/revoke', { confirm_agent_id: to.id })],
  ])('even if the recipient has since %s', async (_name, change) => {
    const [alice, bob] = await h.agents(2)
    const envelope = alice.envelope(bob)
    await got(alice.post('/v2/messages', envelope))
    await got(change(bob, alice))
    expect(await alice.post('/v2/messages', envelope)).toMatchObject({ status: 200, body: { duplicate: true } })
  })

  test('of twenty concurrent retries over two gateways, one is new, and it is charged once', async () => {
    const [alice, bob] = await h.agents(2)
    const envelope = alice.envelope(bob)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => alice.post('/v2/messages', envelope, { url: urlOf(at) })),
    )
    expect(countOutcomes(answers)).toEqual({ 202: 1, 200: 19 })
    expect(answers.map(({ status, body }) => body.duplicate === (status === 200))).not.toContain(false)
    expect(await spendingOf(alice)).toMatchObject({ units: 1, introductions: 1 })
    expect((await bob.get('/v2/events')).body.events).toHaveLength(1)
  })
})

describe('spec 7.4: the same id with any difference is 409 id_conflict', () => {
  const others: [string, (envelope: SignedEnvelope, from: Agent) => SignedEnvelope | SealedEnvelope][] = [
    ['another body', (envelope) => ({ ...envelope, body: 'other' })],
    ['the same moment with another spelling', (envelope) => ({ ...envelope, ts: envelope.ts.replace('Z', '+00:00') })],
    ['another signature', (envelope) => ({ ...envelope, sig: Buffer.alloc(64).toString('base64') })],
    ['another recipient', (envelope, from) => ({ ...envelope, to: from.address })],
    ["the sender's address instead of its id", (envelope, from) => ({ ...envelope, from: from.address })],
    ['sealed', (envelope) => sealedAs(envelope, 16)],
  ]

  test.each(others)('%s', async (_name, change) => {
    const [alice] = await h.agents(1)
    const envelope = alice.envelope(open)
    await got(alice.post('/v2/messages', envelope))
    const before = await spendingOf(alice)
    expect(outcomeOf(await alice.post('/v2/messages', change(envelope, alice)))).toBe('409 id_conflict')
    // Units are released with the answer. If a gateway's release fails, the resolver releases them about 12 s later.
    await eventually(async () => expect(await spendingOf(alice)).toEqual(before))
    expect((await alice.get(`/v2/messages/${envelope.id}`)).body.envelope).toStrictEqual(envelope)
  })

  test('from another sender, which learns nothing else', async () => {
    const [alice, mallory] = await h.agents(2)
    const envelope = alice.envelope(open)
    await got(alice.post('/v2/messages', envelope))
    const answer = await mallory.post('/v2/messages', { ...envelope, from: mallory.id })
    expect(outcomeOf(answer)).toBe('409 id_conflict')
    expect(await spendingOf(mallory)).toEqual({ units: 0, introductions: 0, credits: 0 })
    expect(outcomeOf(await mallory.get(`/v2/messages/${envelope.id}`))).toBe('404 not_found')
  })

  test('of ten concurrent senders of one id, one is accepted, and only that one is charged', async () => {
    const senders = await h.agents(10)
    const id = randomBytes(12).toString('base64url')
    const answers = await Promise.all(senders.map((sender) => sender.send(open, 'hello', { id })))
    expect(countOutcomes(answers)).toEqual({ 202: 1, '409 id_conflict': 9 })
    const spendings = await Promise.all(senders.map(spendingOf))
    expect(spendings).toEqual(
      answers.map(({ status }) =>
        status === 202 ? { units: 1, introductions: 1, credits: 0 } : { units: 0, introductions: 0, credits: 0 },
      ),
    )
  })

  test('the id of a refused message stays free', async () => {
    const [alice, bob] = await h.agents(2)
    await got(bob.patch('/v2/me', { inbox_policy: 'closed' }))
    const envelope = alice.envelope(bob)
    expect(outcomeOf(await alice.post('/v2/messages', envelope))).toBe('403 admission_denied')
    expect(outcomeOf(await alice.post('/v2/messages', { ...envelope, to: open.address }))).toBe('202')
  })
})

describe('spec 6.6: an envelope is returned with the values that were sent', () => {
  // Written as JSON text: 1.0 and 1e2 must come back as these numbers, in the spelling of JSON.stringify.
  const bodies: string[] = [
    '-0',
    '{"\\u0000":"a\\u0000b"}',
    '[1.0,1e2,0.1,0.30000000000000004,5e-324,1.7976931348623157e308,-1E-7]',
    '[9007199254740993,12345678901234567890,0.1000000000000000055511151231257827]',
    '"😀 \\ud83d\\ude00 é e\\u0301 \\u2028 \\ufeff"',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u001f\\u007f"',
    '{"z":1,"a":2,"10":3,"9":4,"":5}',
    '{"constructor":{"prototype":null},"toString":1,"hasOwnProperty":[]}',
    `${'['.repeat(63)}${']'.repeat(63)}`,
  ]

  test.each(bodies)('%s', async (spelled) => {
    const [alice] = await h.agents(1)
    const sent = alice.envelope(open, JSON.parse(spelled))
    const { body: _, ...rest } = sent
    const text = `{"body":${spelled},${JSON.stringify(rest).slice(1)}`
    expect(outcomeOf(await alice.post('/v2/messages', text))).toBe('202')
    const found = [
      (await alice.get(`/v2/messages/${sent.id}`)).body,
      (await open.get(`/v2/messages/${sent.id}`)).body,
      (await alice.get('/v2/export')).body.messages[0],
      (await newestOf(open)).message,
    ]
    const written = JSON.stringify(JSON.parse(text)) // -0 is written as 0 (spec 6.6)
    for (const { envelope } of found) {
      // Compare the texts: toEqual treats an absent member like undefined and inspects members called `constructor`.
      assert.deepStrictEqual(envelope, JSON.parse(written))
      expect(JSON.stringify(envelope)).toBe(written) // the members keep their order
      expect(verifyEnvelope(envelope, alice.key.publicKey)).toBe(true)
    }
  })
})

describe('spec 6.2: recipients', () => {
  // libs/envelope/src/envelope.test.ts has every form of an address.
  const recipients: [string, (authority: string) => string, string][] = [
    ['an unknown name', (at) => `nobody-here@${at}`, '404 recipient_unavailable'],
    ['another authority', () => 'nobody-here@example.org', '400 recipient_not_local'],
    ['the authority without its port', (at) => `nobody-here@${at.replace(/:\d+$/, '')}`, '400 recipient_not_local'],
  ]
  test.each(recipients)('%s', async (_name, to, outcome) => {
    const [alice] = await h.agents(1)
    expect(outcomeOf(await alice.send(to(h.system.authority)))).toBe(outcome)
    expect(await spendingOf(alice)).toEqual({ units: 0, introductions: 0, credits: 0 })
  })

  test('spec 5.11, 6.2: a revoked recipient gets the same answer as an unknown one', async () => {
    const [alice, bob] = await h.agents(2)
    await got(alice.send(bob)) // now both gateways know the pair
    await got(bob.post('/v2/me/revoke', { confirm_agent_id: bob.id }))
    for (const url of h.system.urls) {
      const revoked = await alice.post('/v2/messages', alice.envelope(bob), { url })
      const unknown = await alice.post('/v2/messages', alice.envelope(`nobody-here@${h.system.authority}`), { url })
      expect(outcomeOf(revoked)).toBe('404 recipient_unavailable')
      expect(revoked.text).toBe(unknown.text)
    }
  })

  test('a from that is not the signer is 403 sender_mismatch, whoever it names', async () => {
    const [alice, bob, gone] = await h.agents(3)
    await got(gone.post('/v2/me/revoke', { confirm_agent_id: gone.id }))
    const stranger = new Agent(h.place)
    for (const from of [
      bob.id,
      stranger.id,
      bob.address,
      stranger.address,
      gone.address,
      `${alice.name}@example.org`,
    ]) {
      expect(outcomeOf(await alice.send(open, 'hello', { from })), from).toBe('403 sender_mismatch')
    }
    expect(await spendingOf(alice)).toEqual({ units: 0, introductions: 0, credits: 0 })
  })
})

/** The newest event of the agent. Its cursor is unknown, so this reads page by page. */
async function newestOf(agent: Agent): Promise<{ cursor: number; message: { envelope: SignedEnvelope } }> {
  let after = 0
  for (;;) {
    const { body } = await got(agent.get(`/v2/events?limit=100&after=${after}`))
    if (body.events.length < 100) return body.events.at(-1)
    after = body.next_cursor
  }
}

function reversed<T extends object>(value: T): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).toReversed())
}

/** A sealed envelope instead of a signed one. The server opens nothing, so any bytes work (spec 6.4). */
function sealedAs({ body: _body, sig: _sig, ...head }: SignedEnvelope, bytes: number): SealedEnvelope {
  return {
    ...head,
    body_enc: randomBytes(bytes).toString('base64'),
    ephemeral_pub: randomBytes(32).toString('base64'),
  }
}

function urlOf(at: number): string {
  const { urls } = h.system
  return urls[at % urls.length] ?? h.place.url
}
