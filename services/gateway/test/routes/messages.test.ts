import { createHash } from 'node:crypto'
import { RESERVATION_HOLD_MS, release, reserve } from '@svc/contracts/budget.ts'
import type { Call } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { admitRequest, findAgent, findAgentByName } from '@svc/contracts/identity.ts'
import { LIMITS } from '@svc/contracts/limits.ts'
import { messageOperation } from '@svc/contracts/message-operation.ts'
import { sendMessage } from '@svc/contracts/messaging.ts'
import { jcs } from '@svc/envelope/jcs.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AUTHORITY, envelopeOf, type Harness, JSON_BODY, startHarness } from '../support/harness.ts'

let h: Harness
let alice: ReturnType<Harness['register']>
let bob: ReturnType<Harness['register']>
let ann: ReturnType<Harness['register']>
beforeAll(async () => {
  h = await startHarness()
  alice = h.register('alice')
  bob = h.register('bob')
  ann = h.register('ann')
})
afterAll(() => h[Symbol.asyncDispose]())

const errorOf = (status: number, code: string) => ({ status, body: { error: { code } } })
const post = (body: string | Buffer, from = alice) =>
  h.sendSigned(from, { method: 'POST', target: '/v2/messages', headers: JSON_BODY, body })
/** The last call to messaging. */
const lastRequest = () => h.callsTo(sendMessage).at(-1)?.request
/** base64 of some bytes. */
const bytes = (count: number) => Buffer.alloc(count, 7).toString('base64')
const sealed = (count: number) => ({
  body: undefined,
  sig: undefined,
  body_enc: bytes(count),
  ephemeral_pub: bytes(32),
})

describe('spec 7.3, 12.1: POST /v2/messages', () => {
  describe('ADR 6, 7: the cost is reserved while the nonce is being consumed', () => {
    const taken = { deadline_ms: 1767268800000, settled: false, shared: false }
    const accepted: typeof sendMessage extends Call<infer Q, infer R> ? (request: Q) => R : never = ({ facts }) => ({
      msg_id: facts.id,
      status: 'accepted',
      lane: 'inbox',
      duplicate: false,
      sender_authenticated: true,
    })
    const send = (envelope: string) => post(envelope, ann)
    const reservations = () => h.callsTo(reserve).length
    const digestOf = (envelope: string) =>
      createHash('sha256')
        .update(jcs(JSON.parse(envelope)))
        .digest('hex')
    const operationOf = (envelope: string) => messageOperation(JSON.parse(envelope).id, digestOf(envelope))

    beforeEach(async () => {
      h.answer(sendMessage, accepted)
      h.answer(reserve, () => taken)
      h.answer(admitRequest, () => ({ replayed: false, revoked: false }))
      // From here on the gateway knows that ann's messages to bob go straight to the inbox.
      await send(envelopeOf(ann))
    })

    test('under the operation id that messaging uses, at the right price, and the reservation goes with the message', async () => {
      const envelope = envelopeOf(ann, { body: 'x'.repeat(1_500) })
      expect(await send(envelope)).toMatchObject({ status: 202 })
      expect(h.callsTo(reserve).at(-1)?.request).toEqual({
        operation: operationOf(envelope),
        owner: 'messaging',
        agent_id: ann.agentId,
        units: 2,
        introduction_peer: bob.agentId,
        hold_ms: RESERVATION_HOLD_MS,
      })
      expect(lastRequest()).toMatchObject({ reserved: taken })
    })

    test('spec 11.3: the reservation of a replayed request is released before the answer', async () => {
      h.answer(admitRequest, () => ({ replayed: true, revoked: false }))
      const sent = h.callsTo(sendMessage).length
      const envelope = envelopeOf(ann)
      expect(await send(envelope)).toMatchObject(errorOf(409, 'nonce_replayed'))
      expect(h.callsTo(release).at(-1)?.request).toEqual({
        operation: operationOf(envelope),
        deadline_ms: taken.deadline_ms,
      })
      expect(h.callsTo(sendMessage)).toHaveLength(sent)
    })

    test.each([
      ['was charged for before', { ...taken, settled: true }],
      ['another attempt may be using', { ...taken, shared: true }],
    ])('a reservation that %s is not released', async (_name, reserved) => {
      h.answer(reserve, () => reserved)
      h.answer(admitRequest, () => ({ replayed: true, revoked: false }))
      const given = h.callsTo(release).length
      await send(envelopeOf(ann))
      expect(h.callsTo(release)).toHaveLength(given)
    })

    test.each(['unavailable', 'budget_exhausted'] as const)(
      'spec 7.2: if budget answers `%s`, the message goes on without a reservation, and messaging decides which error comes first',
      async (code) => {
        h.answer(reserve, () => Promise.reject(new ServiceError(code)))
        expect(await send(envelopeOf(ann))).toMatchObject({ status: 202 })
        expect(lastRequest()).toMatchObject({ reserved: null })
      },
    )

    test('not between agents whose messages wait as requests', async () => {
      h.answer(sendMessage, (request) => ({ ...accepted(request), lane: 'requests' }))
      await send(envelopeOf(ann))
      const before = reservations()
      await send(envelopeOf(ann))
      expect(reservations()).toBe(before)
      expect(lastRequest()).toMatchObject({ reserved: null })
    })

    test('not after a refusal', async () => {
      h.answer(sendMessage, () => Promise.reject(new ServiceError('admission_denied')))
      await send(envelopeOf(ann))
      const before = reservations()
      await send(envelopeOf(ann))
      expect(reservations()).toBe(before)
    })

    test.each([
      ['older', -LIMITS.messagePastSeconds - 60],
      ['later', LIMITS.messageFutureSeconds + 60],
    ])(
      'spec 6.7: not for an envelope that is %s than the time window allows, which can only be a repeat that was charged before',
      async (_name, seconds) => {
        const before = reservations()
        await send(envelopeOf(ann, { ts: new Date(Date.now() + seconds * 1_000).toISOString() }))
        expect(reservations()).toBe(before)
        expect(lastRequest()).toMatchObject({ reserved: null })
      },
    )

    test('spec 6.5: not for a message that is too large', async () => {
      const before = reservations()
      await send(envelopeOf(ann, { body: 'x'.repeat(LIMITS.dmBytes) }))
      expect(reservations()).toBe(before)
    })
  })

  test('messaging gets the sender, the recipient, the facts, and the text as JSON.stringify writes it', async () => {
    const cleo = h.register('cleo')
    const envelope = envelopeOf(cleo, {
      ts: '2026-01-01T12:00:00.5+01:00',
      ttl: 60,
      reply_to: 'message-parent',
      thread_id: 'message-root',
      body: { é: 'ü€😀', n: 1 },
    })
    const spelled = envelope.replace('"n":1', ' "n" :\n 1.0e0 ')
    await post(spelled, cleo)
    expect(lastRequest()).toEqual({
      signer: cleo.agentId,
      recipient: { kind: 'agent', id: bob.agentId },
      envelope,
      reserved: null,
      facts: {
        id: JSON.parse(envelope).id,
        digest: createHash('sha256')
          .update(jcs(JSON.parse(envelope)))
          .digest('hex'),
        ts_ms: Date.parse('2026-01-01T11:00:00.500Z'),
        ttl: 60,
        reply_to: 'message-parent',
        thread_id: 'message-root',
        payload_bytes: Buffer.byteLength('{"é":"ü€😀","n":1}'),
      },
    })
  })
})

describe('spec 6.2: to and from', () => {
  test('a registered name is looked up once, and an unregistered name each time', async () => {
    const asked = (name: string) =>
      h.callsTo(findAgentByName).filter(({ request }) => (request as { name: string }).name === name).length
    await post(envelopeOf(alice, { to: `later@${AUTHORITY}` }))
    await post(envelopeOf(alice, { to: `later@${AUTHORITY}` }))
    expect(asked('later')).toBe(2)
    const later = h.register('later')
    await post(envelopeOf(alice, { to: `later@${AUTHORITY}` }))
    await post(envelopeOf(alice, { to: `later@${AUTHORITY}` }))
    expect(asked('later')).toBe(3)
    expect(lastRequest()).toMatchObject({ recipient: { kind: 'agent', id: later.agentId } })
  })

  test.each([
    ['an agent id', (dora: ReturnType<Harness['register']>) => dora.agentId],
    ['an address', () => `dora@${AUTHORITY}`],
  ])(
    "the name comes with the signer's key: with %s, the first message of a process costs one look-up",
    async (_, from) => {
      await using fresh = await startHarness()
      const [dora] = [fresh.register('dora'), fresh.register('bob')]
      const sendFresh = () =>
        fresh.sendSigned(dora, {
          method: 'POST',
          target: '/v2/messages',
          headers: JSON_BODY,
          body: envelopeOf(dora, { from: from(dora) }),
        })
      const lookUps = () => [fresh.callsTo(findAgent).length, fresh.callsTo(findAgentByName).length]
      expect(await sendFresh()).toMatchObject({ status: 202 })
      expect(lookUps()).toEqual([1, 1]) // the signer's key and name; the recipient
      expect(await sendFresh()).toMatchObject({ status: 202 })
      expect(lookUps()).toEqual([1, 1])
    },
  )
})

describe('spec 7.2: an envelope with more members than fit into any message is answered like a smaller one', () => {
  const tooMany = { body: Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`n${at}`, 0])) }
  const stranger = () => createKeyPair().agentId

  test.each<[string, () => Record<string, unknown>, number, string]>([
    ['too many members', () => tooMany, 413, 'message_too_large'],
    ['shape before members', () => ({ ttl: -1, ...tooMany }), 400, 'invalid_envelope'],
    ['sender before members', () => ({ from: stranger(), ...tooMany }), 403, 'sender_mismatch'],
    ['too many members of a member that is text', () => ({ reply_to: tooMany.body }), 400, 'invalid_envelope'],
    ['too many undeclared members', () => ({ from: stranger(), ttl: -1, ...tooMany.body }), 400, 'invalid_request'],
  ])('%s', async (_, changes, status, code) => {
    const calls = h.callsTo(sendMessage).length
    expect(await post(envelopeOf(alice, changes()))).toMatchObject(errorOf(status, code))
    expect(h.callsTo(sendMessage)).toHaveLength(calls)
  })

  test('a fault of the JSON comes before all of them, after any number of members', async () => {
    const sent = envelopeOf(alice, { ttl: -1, ...tooMany }).replace('"n8999":', '"n0":')
    expect(await post(sent)).toMatchObject(errorOf(400, 'invalid_json'))
  })

  test('spec 6.5: a post may have 2,285 members, the most that fit into 16,000 characters', async () => {
    const body = [...Array.from({ length: 2_285 }, () => ({ '': 0 })), 1]
    expect(await post(envelopeOf(alice, { body, to: `board:${'a'.repeat(20)}` }))).toMatchObject({ status: 202 })
  })
})

describe('spec 4.1: message_too_large names the limit and the size', () => {
  const board = `board:${'a'.repeat(20)}`
  test.each<[string, Record<string, unknown>, string]>([
    [
      'a direct message',
      { body: 'é'.repeat(4_000) },
      'the body has 4002 code points and 8002 bytes of JSON; a direct message can have at most 4000 code points and 16384 bytes',
    ],
    [
      'a post',
      { body: 'x'.repeat(16_000), to: board },
      'the body has 16002 code points and 16002 bytes of JSON; a post can have at most 16000 code points and 32768 bytes',
    ],
    [
      'a sealed direct message',
      sealed(16_385),
      'body_enc has 16385 bytes when decoded; a direct message that is sealed can have at most 16384 bytes, of which the signature and the seal take about 120 bytes',
    ],
    [
      'a body beyond every limit',
      { body: 'x'.repeat(40_000) },
      'the body has more than 32768 bytes of JSON; a direct message can have at most 4000 code points and 16384 bytes',
    ],
  ])('%s', async (_, changes, message) => {
    expect(await post(envelopeOf(alice, changes))).toMatchObject({
      status: 413,
      body: { error: { code: 'message_too_large', message } },
    })
  })
})
