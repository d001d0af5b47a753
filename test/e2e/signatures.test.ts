/** The checks of a request signature and their order, over HTTP, at two gateways and two processes of identity. */

import { ORDER } from '@svc/svc1/ed25519.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { Agent, call, type HttpAnswer } from '../support/client/agent.ts'
import { expectError, expectStamped } from '../support/client/expect-answer.ts'
import { exchange } from '../support/client/raw-http.ts'
import {
  AUTHORIZATION,
  type Draft,
  draft,
  freshNonce,
  type HeaderLines,
  headersOf,
  NONCE,
  send,
  TIMESTAMP,
  unixSeconds,
} from '../support/client/signed-request.ts'
import { bodyTextOf, OPERATIONS, targetOf } from '../support/description/operations.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'

let h: SharedHarness
let alice: Agent
let bob: Agent
/** Was registered and has revoked itself. */
let revoked: Agent
/** Never registered. */
let stranger: Agent
/** A nonce that each of them has used. */
const used = freshNonce()

beforeAll(async () => {
  h = await shareHarness('usual')
  const [first, second, third] = await h.agents(3)
  if (first === undefined || second === undefined || third === undefined) throw new Error('three agents were asked for')
  alice = first
  bob = second
  revoked = third
  stranger = new Agent(h.place)
  await use(draft(alice, { nonce: used }), 200)
  const revocation = { method: 'POST', target: '/v2/me/revoke', body: JSON.stringify({ confirm_agent_id: revoked.id }) }
  await use(draft(revoked, { ...revocation, nonce: used }), 200)
  const challenge = { method: 'POST', target: '/v2/challenges', body: JSON.stringify({ pubkey: stranger.pubkey }) }
  await use(draft(stranger, { ...challenge, nonce: used }), 201)
  return () => h[Symbol.asyncDispose]()
})

async function use(request: Draft, status: number): Promise<HttpAnswer> {
  const answer = await send(request)
  expect(answer.status, answer.text).toBe(status)
  return answer
}

/** Both gateways, this one first. */
function gatewaysFrom(at: number): readonly string[] {
  return [...h.system.urls.slice(at), ...h.system.urls.slice(0, at)]
}

/**
 * Sends what depends on the second it is sent in, until one second saw all of it: the server reads the same clock.
 */
async function withinOneSecond(sendAt: (now: number) => Promise<HttpAnswer>): Promise<HttpAnswer> {
  for (;;) {
    const now = unixSeconds()
    const answer = await sendAt(now)
    if (unixSeconds() === now) return answer
  }
}

/** Another spelling of the signature, or another one. */
function editSignature(change: (base64: string) => string): Draft['edit'] {
  return (headers) => {
    const [, head = '', base64 = ''] = /^(SVC [^:]+:)(.*)$/.exec(headers[AUTHORIZATION] ?? '') ?? []
    return { ...headers, [AUTHORIZATION]: head + change(base64) }
  }
}

function editBytes(change: (bytes: Buffer) => Buffer): Draft['edit'] {
  return editSignature((base64) => change(Buffer.from(base64, 'base64')).toString('base64'))
}

function replace(name: string, value: string | ((right: string) => string | readonly string[])): Draft['edit'] {
  return (headers) => ({ ...headers, [name]: typeof value === 'string' ? value : value(headers[name] ?? '') })
}

function omit(name: string): Draft['edit'] {
  return (headers) => Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name))
}

const flipBit = editBytes((bytes) => {
  bytes[40] = (bytes[40] ?? 0) ^ 1
  return bytes
})

/** S + L in the place of S: the same scalar to whoever reduces it first. */
const notReduced = editBytes((bytes) => {
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + ORDER
  return Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()])
})

describe('a request that is right in everything', () => {
  test.each<[string, () => Partial<Draft>]>([
    ['a GET', () => ({})],
    ['a query, in the order in which it was signed', () => ({ target: '/v2/contacts?limit=5&after=a' })],
    ['the same query in the other order', () => ({ target: '/v2/contacts?after=a&limit=5' })],
    [
      'percent-encoding where none is needed',
      () => ({ target: `/v2/agents/%${Buffer.from(alice.name.slice(0, 1)).toString('hex')}${alice.name.slice(1)}` }),
    ],
    ['percent-encoding in a fixed segment', () => ({ target: '/v2/%6de' })],
    ['a query with nothing in it', () => ({ target: '/v2/me?' })],
    ['a body', () => ({ method: 'PATCH', body: '{}' })],
    ['a body with white space', () => ({ method: 'PATCH', body: ' { }\n' })],
    ['the shortest nonce', () => ({ nonce: freshNonce(16) })],
    ['the longest nonce', () => ({ nonce: freshNonce(64) })],
    ['a nonce in upper case', () => ({ nonce: freshNonce().toUpperCase() })],
    [
      'another Host header: the authority is the one that the manifest announces',
      () => ({ edit: replace('host', 'elsewhere.example') }),
    ],
    ['the gateway that has another port than the authority', () => ({ url: h.system.urls[1] ?? '' })],
  ])('spec 3.3: %s', async (_, changes) => {
    const answer = await use(draft(alice, changes()), 200)
    expectStamped(answer)
  })

  test('spec 3.3: a body that comes in chunks', async () => {
    const request = draft(alice, { method: 'PATCH', body: '{}' })
    const headers = { ...headersOf(request), 'transfer-encoding': 'chunked' }
    const { method, target, body } = request
    expect(await exchange(alice.place.url, { method, target, headers, body })).toMatchObject({ status: 200 })
  })

  test('spec 3.3: a body in any encoding of bytes is hashed as it is, also where it is then refused', async () => {
    const request = draft(alice, { method: 'PATCH', body: Uint8Array.of(0xff, 0xfe, 0x00) })
    expectError(await send(request), 400, 'invalid_json')
  })
})

describe('spec 2.4, 3.2: header syntax', () => {
  const rows: [string, Draft['edit']][] = [
    ['no X-SVC-Timestamp', omit(TIMESTAMP)],
    ['no X-SVC-Nonce', omit(NONCE)],
    ['an empty Authorization', replace(AUTHORIZATION, '')],
    ['another scheme', replace(AUTHORIZATION, (right) => right.replace('SVC', 'Bearer'))],
    ['the scheme alone', replace(AUTHORIZATION, 'SVC')],
    ['no scheme', replace(AUTHORIZATION, (right) => right.slice('SVC '.length))],
    ['no signature', replace(AUTHORIZATION, (right) => right.replace(/:.*/, ''))],
    ['an empty signature', replace(AUTHORIZATION, (right) => right.replace(/:.*/, ':'))],
    ['no agent id', replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ' :'))],
    ['a name in the place of the agent id', replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ' alice:'))],
    [
      'an agent id with a digit that base58 has not',
      replace(AUTHORIZATION, (right) => right.replace(/^SVC ./, 'SVC 0')),
    ],
    [
      'an agent id of more than 32 bytes',
      replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ` ${'z'.repeat(44)}:`)),
    ],
    ['an agent id of 8,000 digits', replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ` ${'2'.repeat(8_000)}:`))],
    ['a colon too many', replace(AUTHORIZATION, (right) => right.replace(':', '::'))],
    ['something behind the signature', replace(AUTHORIZATION, (right) => `${right} x`)],
    ['a second signature behind a comma', replace(AUTHORIZATION, (right) => `${right}, ${right}`)],
    ['base64 without padding', editSignature((base64) => base64.replaceAll('=', ''))],
    ['base64 with half of its padding', editSignature((base64) => base64.slice(0, -1))],
    ['base64 with too much padding', editSignature((base64) => `${base64}====`)],
    ['base64 with trailing bits', editSignature((base64) => `${base64.slice(0, -3)}${nextDigit(base64.at(-3))}==`)],
    ['base64 of the URL alphabet', editSignature((base64) => `-_${base64.slice(2)}`)],
    ['white space inside base64', editSignature((base64) => `${base64.slice(0, 40)} ${base64.slice(40)}`)],
    ['hex in the place of base64', editSignature((base64) => Buffer.from(base64, 'base64').toString('hex'))],
    ['a signature of 63 bytes', editBytes((bytes) => bytes.subarray(1))],
    ['a signature of 65 bytes', editBytes((bytes) => Buffer.concat([bytes, Buffer.alloc(1)]))],
    ['Authorization twice', replace(AUTHORIZATION, (right) => [right, right])],
    ['Authorization twice, the second of another kind', replace(AUTHORIZATION, (right) => [right, 'Basic eDp5'])],
    ['X-SVC-Timestamp twice', replace(TIMESTAMP, (right) => [right, right])],
    ['X-SVC-Nonce twice', replace(NONCE, (right) => [right, right])],
    ['X-SVC-Nonce twice, another one the second time', replace(NONCE, (right) => [right, freshNonce()])],
    ['an empty timestamp', replace(TIMESTAMP, '')],
    ['a timestamp with a sign', replace(TIMESTAMP, (right) => `+${right}`)],
    ['a negative timestamp', replace(TIMESTAMP, (right) => `-${right}`)],
    ['a timestamp with a fraction', replace(TIMESTAMP, (right) => `${right}.0`)],
    ['a timestamp with an exponent', replace(TIMESTAMP, (right) => `${right}e0`)],
    ['a timestamp in hex', replace(TIMESTAMP, (right) => `0x${Number(right).toString(16)}`)],
    ['a date', replace(TIMESTAMP, (right) => new Date(Number(right) * 1000).toISOString())],
    ['a timestamp behind a comma', replace(TIMESTAMP, (right) => `${right},${right}`)],
    ['an empty nonce', replace(NONCE, '')],
    ['a nonce of 30 digits', replace(NONCE, (right) => right.slice(2))],
    ['a nonce of 130 digits', replace(NONCE, freshNonce(65))],
    ['a nonce of 31 digits', replace(NONCE, (right) => right.slice(1))],
    ['a nonce of 33 digits', replace(NONCE, (right) => `${right}0`)],
    ['a nonce of 127 digits', replace(NONCE, freshNonce(64).slice(1))],
    ['a nonce with a digit that hex has not', replace(NONCE, (right) => `${right.slice(2)}0g`)],
    ['a nonce behind 0x', replace(NONCE, (right) => `0x${right}`)],
    ['a nonce with hyphens', replace(NONCE, (right) => `${right.slice(0, 16)}--${right.slice(16)}`)],
  ]
  test.each(rows)('spec 3.2, 4.3: 401 unauthenticated: %s', async (_, edit) => {
    expectError(await send(draft(alice, { edit })), 401, 'unauthenticated')
  })

  // The nonce is signed as it is sent, so that its form is all that is wrong.
  test.each([
    ['30 digits', freshNonce(15)],
    ['31 digits', freshNonce(16).slice(1)],
    ['33 digits', `${freshNonce(16)}0`],
    ['127 digits', freshNonce(64).slice(1)],
    ['130 digits', freshNonce(65)],
  ])('spec 3.2: 401 unauthenticated: a nonce of %s, with a signature over it', async (_, nonce) => {
    expectError(await send(draft(alice, { nonce })), 401, 'unauthenticated')
  })
})

describe('spec 3.6: timestamp', () => {
  test.each([-60, -59, 0, 59, 60])(
    'spec 3.6, 11.7: %d s from the clock of the server is within tolerance',
    async (offset) => {
      const answer = await withinOneSecond((now) => send(draft(alice, { timestamp: now + offset })))
      expect(answer).toMatchObject({ status: 200 })
    },
  )

  test.each([-61, 61, -3600, 3600, -1_000_000_000, 86_400 * 365 * 1000])(
    'spec 3.6, 11.7: 401 timestamp_out_of_range: %d s from the clock of the server',
    async (offset) => {
      const answer = await withinOneSecond((now) => send(draft(alice, { timestamp: now + offset })))
      expectError(answer, 401, 'timestamp_out_of_range')
    },
  )

  test('spec 3.6: 401 timestamp_out_of_range: the beginning of time, and milliseconds in the place of seconds', async () => {
    expectError(await send(draft(alice, { timestamp: 0 })), 401, 'timestamp_out_of_range')
    expectError(await send(draft(alice, { timestamp: Date.now() })), 401, 'timestamp_out_of_range')
  })
})

describe('spec 3.3, 3.5: signer and signature', () => {
  test('spec 3.5, 4.3: 401 signer_unknown: a key that nobody registered', async () => {
    expectError(await send(draft(stranger)), 401, 'signer_unknown')
  })

  test('spec 5.11: 401 signer_revoked: a key that was revoked', async () => {
    expectError(await send(draft(revoked)), 401, 'signer_revoked')
  })

  test.each<[string, () => Partial<Draft>]>([
    ['another method was signed', () => ({ signed: { method: 'POST' } })],
    ['the method was signed in lower case', () => ({ signed: { method: 'get' } })],
    ['another path was signed', () => ({ signed: { target: '/v2/budget' } })],
    ['the query was not signed', () => ({ target: '/v2/contacts?limit=5', signed: { target: '/v2/contacts' } })],
    [
      'another query was signed',
      () => ({ target: '/v2/contacts?limit=5', signed: { target: '/v2/contacts?limit=6' } }),
    ],
    [
      'the query was signed in another order',
      () => ({ target: '/v2/contacts?limit=5&after=a', signed: { target: '/v2/contacts?after=a&limit=5' } }),
    ],
    [
      'the query was signed decoded',
      () => ({ target: '/v2/contacts?after=%61', signed: { target: '/v2/contacts?after=a' } }),
    ],
    ['the path was signed decoded', () => ({ target: '/v2/%6de', signed: { target: '/v2/me' } })],
    ['the path was signed encoded', () => ({ target: '/v2/me', signed: { target: '/v2/%6de' } })],
    ['percent-encoding was signed in the other case', () => ({ target: '/v2/%6De', signed: { target: '/v2/%6de' } })],
    ['an empty query was not signed', () => ({ target: '/v2/me?', signed: { target: '/v2/me' } })],
    ['scheme and authority were signed with the path', () => ({ signed: { target: `${h.place.url}/v2/me` } })],
    ['another body was signed', () => ({ method: 'PATCH', body: '{ }', signed: { body: '{}' } })],
    ['no body was signed', () => ({ method: 'PATCH', body: '{}', signed: { body: '' } })],
    ['a body was signed and none was sent', () => ({ signed: { body: '{}' } })],
    ['another timestamp was signed', () => ({ signed: { timestamp: String(unixSeconds() - 1) } })],
    ['another nonce was signed', () => ({ signed: { nonce: freshNonce() } })],
    ['the nonce was signed in the other case', () => ({ nonce: 'ab'.repeat(16), signed: { nonce: 'AB'.repeat(16) } })],
    ['the authority was signed without its port', () => ({ signed: { authority: '127.0.0.1' } })],
    [
      'another name of the same host was signed',
      () => ({ signed: { authority: h.system.authority.replace('127.0.0.1', 'localhost') } }),
    ],
    ['the authority was signed with its scheme', () => ({ signed: { authority: h.place.url } })],
    [
      'the address of the second gateway was signed',
      () => ({ url: h.system.urls[1] ?? '', signed: { authority: new URL(h.system.urls[1] ?? '').host } }),
    ],
    ['no authority was signed', () => ({ signed: { authority: '' } })],
    ['another version line was signed', () => ({ lines: (lines) => lines.replace('SVC1', 'SVC2') })],
    ['a line feed followed the last line', () => ({ lines: (lines) => `${lines}\n` })],
    ['the lines were joined by CR LF', () => ({ lines: (lines) => lines.replaceAll('\n', '\r\n') })],
    [
      'the hash was signed in upper case',
      () => ({ lines: (lines) => lines.replace(/[0-9a-f]{64}$/, (hex) => hex.toUpperCase()) }),
    ],
    ['somebody else signed', () => ({ edit: replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ` ${bob.id}:`)) })],
    ['one bit differs', () => ({ edit: flipBit })],
    ['S is not below L', () => ({ edit: notReduced })],
    ['all of it is zero', () => ({ edit: editBytes((bytes) => bytes.fill(0)) })],
  ])('spec 3.3: 401 signature_invalid: %s', async (_, changes) => {
    expectError(await send(draft(alice, changes())), 401, 'signature_invalid')
  })

  test('spec 6.3: a signature that was made for an envelope is none for a request', async () => {
    const { sig } = alice.envelope(bob)
    expectError(await send(draft(alice, { edit: editSignature(() => sig) })), 401, 'signature_invalid')
  })
})

describe('spec 3.7: nonces', () => {
  test('spec 3.7: 409 nonce_replayed: the same request again, at either gateway', async () => {
    const request = draft(alice)
    await use(request, 200)
    for (const url of h.system.urls) expectError(await send({ ...request, url }), 409, 'nonce_replayed')
  })

  test.each<[string, (nonce: string) => Partial<Draft>]>([
    ['with another timestamp', (nonce) => ({ nonce, timestamp: unixSeconds() - 30 })],
    ['in the other case', (nonce) => ({ nonce: nonce.toUpperCase() })],
    ['on another path', (nonce) => ({ nonce, target: '/v2/budget' })],
    ['with another method and body', (nonce) => ({ nonce, method: 'PATCH', body: '{}' })],
    ['at another gateway', (nonce) => ({ nonce, url: gatewaysFrom(1)[0] ?? '' })],
    ['on a path where the signature is optional', (nonce) => ({ nonce, target: '/v2/agents' })],
    ['on an unknown path', (nonce) => ({ nonce, target: '/v2/nothing' })],
    ['with a body that is refused', (nonce) => ({ nonce, method: 'PATCH', body: '{' })],
  ])('spec 3.7: 409 nonce_replayed: a used nonce %s', async (_, changes) => {
    const nonce = `abcdef${freshNonce(13)}`
    await use(draft(alice, { nonce, url: h.place.url }), 200)
    expectError(await send(draft(alice, changes(nonce))), 409, 'nonce_replayed')
  })

  test('spec 3.7: a nonce that was used in upper case is used in lower case', async () => {
    const nonce = `abcdef${freshNonce(13)}`
    await use(draft(alice, { nonce: nonce.toUpperCase() }), 200)
    expectError(await send(draft(alice, { nonce })), 409, 'nonce_replayed')
  })

  test("spec 3.7: nonces are each signer's own", async () => {
    const nonce = freshNonce()
    await use(draft(alice, { nonce }), 200)
    await use(draft(bob, { nonce }), 200)
  })

  test('spec 3.7: nonces are compared by all of their bytes', async () => {
    const nonce = freshNonce(63)
    await use(draft(alice, { nonce }), 200)
    await use(draft(alice, { nonce: `${nonce}00` }), 200)
    await use(draft(alice, { nonce: `00${nonce}` }), 200)
    await use(draft(alice, { nonce: nonce.slice(0, 32) }), 200)
  })

  test.each<[string, number, () => Partial<Draft> | Promise<Partial<Draft>>]>([
    ['400, a body that is no JSON', 400, () => ({ method: 'PATCH', body: '{' })],
    ['400, a member that is not declared', 400, () => ({ method: 'PATCH', body: '{"x":1}' })],
    ['400, a query parameter that is not declared', 400, () => ({ target: '/v2/me?x=1' })],
    ['400, a body where none is taken', 400, () => ({ body: '{}' })],
    [
      '403, an envelope from somebody else',
      403,
      () => ({
        method: 'POST',
        target: '/v2/messages',
        body: JSON.stringify({ ...alice.envelope(bob), from: bob.id }),
      }),
    ],
    ['404, an unknown path', 404, () => ({ target: '/v2/nothing' })],
    ['404, an unknown method', 404, () => ({ method: 'DELETE' })],
    ['404, a message that is not there', 404, () => ({ target: '/v2/messages/absent-message' })],
    ['404, an id that cannot be one', 404, () => ({ target: '/v2/messages/x' })],
    [
      '409, an id that was used for another envelope',
      409,
      async () => {
        const first = alice.envelope(alice)
        expect((await alice.post('/v2/messages', first)).status).toBe(202)
        return { method: 'POST', target: '/v2/messages', body: JSON.stringify({ ...first, body: 'other' }) }
      },
    ],
    [
      '413, a payload over its limit',
      413,
      () => ({ method: 'POST', target: '/v2/messages', body: JSON.stringify(alice.envelope(bob, 'x'.repeat(5000))) }),
    ],
    ['415, another content type', 415, () => ({ method: 'PATCH', body: '{}', contentType: 'text/plain' })],
  ])(
    'spec 3.7: a request that verified has used its nonce, also where it was answered %s',
    async (_, status, changes) => {
      const nonce = freshNonce()
      await use(draft(alice, { ...(await changes()), nonce }), status)
      expectError(await send(draft(alice, { nonce })), 409, 'nonce_replayed')
    },
  )

  test.each<[string, () => Partial<Draft>]>([
    ['its signature did not match', () => ({ edit: flipBit })],
    ['its timestamp was out of range', () => ({ timestamp: unixSeconds() - 120 })],
    ['its form was wrong', () => ({ edit: omit(TIMESTAMP) })],
    ['it was signed for another authority', () => ({ signed: { authority: 'elsewhere.example' } })],
    ['its body was over 96 KiB', () => ({ method: 'PATCH', body: ' '.repeat(98_305) })],
    [
      'somebody else had signed it',
      () => ({ signer: bob, edit: replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ` ${alice.id}:`)) }),
    ],
  ])('spec 3.7: a nonce is not used up by a request that did not verify: %s', async (_, changes) => {
    const nonce = freshNonce()
    const refused = await send(draft(alice, { ...changes(), nonce }))
    expect([401, 413]).toContain(refused.status)
    await use(draft(alice, { nonce }), 200)
  })

  test('the same request to two gateways at once: one wins, one is 409', async () => {
    for (let round = 0; round < 60; round += 1) {
      const request = draft(round % 2 === 0 ? alice : bob)
      const answers = await Promise.all(gatewaysFrom(round % 2).map((url) => send({ ...request, url })))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
      for (const answer of answers) if (answer.status === 409) expectError(answer, 409, 'nonce_replayed')
    }
  })

  test('of many requests with one nonce at once, whatever else they say, one wins', async () => {
    const nonce = freshNonce()
    const requests = Array.from({ length: 24 }, (_, at) =>
      draft(alice, {
        nonce: at % 3 === 0 ? nonce.toUpperCase() : nonce,
        timestamp: unixSeconds() - (at % 5),
        target: at % 4 === 0 ? '/v2/budget' : '/v2/me',
        url: h.system.urls[at % 2] ?? '',
      }),
    )
    const answers = await Promise.all(requests.map(send))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(23).fill(409)])
  })

  test('spec 3.7: an envelope that is sent twice at once with one nonce is accepted once, and the copy is 409', async () => {
    const envelope = alice.envelope(alice)
    const request = draft(alice, { method: 'POST', target: '/v2/messages', body: JSON.stringify(envelope) })
    const answers = await Promise.all(h.system.urls.map((url) => send({ ...request, url })))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409])
  })
})

describe('spec 3.5: the order of the checks', () => {
  interface Fault {
    readonly name: string
    readonly status: number
    readonly code: string
    readonly put: (right: Partial<Draft>) => Partial<Draft>
  }
  const stages: readonly (readonly Fault[])[] = [
    [
      {
        name: 'a body over 96 KiB',
        status: 413,
        code: 'body_too_large',
        put: (right) => ({ ...right, method: 'PATCH', body: ' '.repeat(98_305) }),
      },
    ],
    [
      {
        name: 'an odd nonce',
        status: 401,
        code: 'unauthenticated',
        put: withEdit(replace(NONCE, (right) => right.slice(1))),
      },
      { name: 'a header that is missing', status: 401, code: 'unauthenticated', put: withEdit(omit(NONCE)) },
      {
        name: 'a header that came twice',
        status: 401,
        code: 'unauthenticated',
        put: withEdit(replace(AUTHORIZATION, (right) => [right, right])),
      },
    ],
    [
      {
        name: 'a timestamp out of range',
        status: 401,
        code: 'timestamp_out_of_range',
        put: (right) => ({ ...right, timestamp: unixSeconds() - 120 }),
      },
    ],
    [
      {
        name: 'an unknown signer',
        status: 401,
        code: 'signer_unknown',
        put: (right) => ({ ...right, signer: stranger }),
      },
    ],
    [
      { name: 'a signature that does not match', status: 401, code: 'signature_invalid', put: withEdit(flipBit) },
      {
        name: 'a signature for another authority',
        status: 401,
        code: 'signature_invalid',
        put: (right) => ({ ...right, signed: { authority: 'elsewhere.example' } }),
      },
    ],
    [
      {
        name: 'a revoked signer',
        status: 401,
        code: 'signer_revoked',
        put: (right) => ({ ...right, signer: revoked }),
      },
    ],
    [{ name: 'a used nonce', status: 409, code: 'nonce_replayed', put: (right) => ({ ...right, nonce: used }) }],
    [
      {
        name: 'an unknown path',
        status: 404,
        code: 'not_found',
        put: (right) => ({ ...right, target: '/v2/nothing' }),
      },
      { name: 'an unknown method', status: 404, code: 'not_found', put: (right) => ({ ...right, method: 'DELETE' }) },
      {
        name: 'a body that is no JSON',
        status: 400,
        code: 'invalid_json',
        put: (right) => ({ method: 'PATCH', body: '{', ...right }),
      },
      {
        name: 'another content type',
        status: 415,
        code: 'unsupported_media_type',
        put: (right) => ({ method: 'PATCH', body: '{}', contentType: 'text/plain', ...right }),
      },
      {
        name: 'a member that is not declared',
        status: 400,
        code: 'invalid_request',
        put: (right) => ({ method: 'PATCH', body: '{"x":1}', ...right }),
      },
      {
        name: 'a query parameter that is not declared',
        status: 400,
        code: 'invalid_request',
        put: (right) => ({ ...right, target: '/v2/me?x=1' }),
      },
      {
        name: 'an id that cannot be one',
        status: 404,
        code: 'not_found',
        put: (right) => ({ ...right, target: '/v2/messages/x/receipts' }),
      },
    ],
  ]
  const faults = stages.flatMap((stage, at) => stage.map((fault) => ({ ...fault, stage: at })))
  const pairs = faults.flatMap((first) =>
    faults
      .filter((second) => first.stage < second.stage && !isImpossible(first, second))
      .map((second) => ({ first, second })),
  )

  test.each(faults)('spec 3.5: $name alone: $status $code', async ({ status, code, put }) => {
    expectError(await send(draft(alice, put({}))), status, code)
  })

  test.each(pairs)('spec 3.5: $first.name comes before $second.name', async ({ first, second }) => {
    // The later fault is put first, so that where both change one thing the earlier one stays.
    const request = draft(alice, first.put(second.put({})))
    expectError(await send(request), first.status, first.code)
  })

  function withEdit(edit: Draft['edit']): Fault['put'] {
    return ({ edit: others = (headers: Record<string, string>): HeaderLines => headers, ...right }) => ({
      ...right,
      edit: (headers) => edit(others(headers) as Record<string, string>),
    })
  }

  /** Nobody is both unknown and revoked. */
  function isImpossible(first: Fault, second: Fault): boolean {
    return first.code === 'signer_unknown' && second.code === 'signer_revoked'
  }
})

describe('spec 3.1: it holds on every path', () => {
  const places: [string, string, number][] = [
    ['GET', '/v2/health', 200],
    ['GET', '/v2/agents', 200],
    ['GET', '/v2/agents/absent', 404],
    ['GET', '/v2/messages/absent-message', 404],
    ['GET', '/openapi.json', 200],
    ['GET', '/.well-known/agent.json', 200],
    ['GET', '/', 404],
    ['GET', '/v2/nothing', 404],
    ['GET', '/v2/agents/%zz', 404],
    ['DELETE', '/v2/me', 404],
    ['OPTIONS', '/v2/me', 404],
    ['HEAD', '/v2/me', 404],
    ['PROPFIND', '/v2/me', 404],
  ]
  const faults: [string, number, string, () => Partial<Draft>][] = [
    ['an odd nonce', 401, 'unauthenticated', () => ({ edit: replace(NONCE, (right) => right.slice(1)) })],
    ['another scheme', 401, 'unauthenticated', () => ({ edit: replace(AUTHORIZATION, 'Bearer x') })],
    ['a timestamp out of range', 401, 'timestamp_out_of_range', () => ({ timestamp: unixSeconds() + 120 })],
    ['an unknown signer', 401, 'signer_unknown', () => ({ signer: stranger })],
    ['a signature that does not match', 401, 'signature_invalid', () => ({ edit: flipBit })],
    ['a revoked signer', 401, 'signer_revoked', () => ({ signer: revoked })],
    ['a used nonce', 409, 'nonce_replayed', () => ({ nonce: used })],
  ]
  test.each(places)('spec 3.1: %s %s answers %d to a valid signature', async (method, target, status) => {
    expectStamped(await use(draft(alice, { method, target }), status))
  })

  const rows = places.flatMap(([method, target]) =>
    faults.map(([name, status, code, changes]) => ({ method, target, name, status, code, changes })),
  )
  test.each(rows)(
    'spec 3.1, 3.5: $method $target with $name: $status',
    async ({ method, target, status, code, changes }) => {
      const answer = await send(draft(alice, { method, target, ...changes() }))
      if (method !== 'HEAD') expectError(answer, status, code)
      else expect(answer.status).toBe(status) // an answer to HEAD has no body
    },
  )
})

describe('spec 3.1: who needs a signature', () => {
  const required = OPERATIONS.filter(({ auth }) => auth === 'required')
  const optional = OPERATIONS.filter(({ auth }) => auth === 'optional')

  test.each(required)('spec 12.1: $method $path without one: 401 unauthenticated', async (operation) => {
    const body = bodyTextOf(operation)
    const sent = body === undefined ? {} : { body }
    expectError(await call(h.place, operation.method, targetOf(operation), sent), 401, 'unauthenticated')
    // Neither of the other two headers is a credential.
    const headers = { [TIMESTAMP]: String(unixSeconds()), [NONCE]: freshNonce() }
    expectError(
      await call(h.place, operation.method, targetOf(operation), { ...sent, headers }),
      401,
      'unauthenticated',
    )
  })

  test.each(required)(
    'spec 3.5: $method $path without one is 401 before its body, its query and its ids are looked at',
    async ({ method, path }) => {
      const target = `${path.replace(/\{\w+\}/, '!')}?undeclared=1`
      const headers = { 'content-type': 'text/plain' }
      expectError(await exchange(h.place.url, { method, target, headers, body: '{' }), 401, 'unauthenticated')
    },
  )

  test.each(optional)('spec 12.1: $method $path without one is answered', async (operation) => {
    const body = bodyTextOf(operation)
    const answer = await call(h.place, operation.method, targetOf(operation), body === undefined ? {} : { body })
    expect([...operation.success, ...operation.faults]).toContain(answer.status)
    expectStamped(answer)
  })

  test('spec 3.1: one that is supplied must be valid, although none was needed', async () => {
    for (const operation of optional) {
      const request = draft(alice, {
        method: operation.method,
        target: targetOf(operation),
        body: bodyTextOf(operation),
      })
      expectError(await send({ ...request, edit: flipBit }), 401, 'signature_invalid')
    }
  })
})

describe('spec 3.8: the key of the body', () => {
  const other = createKeyPair()
  const pubkeyOf = (agent: Agent): string => JSON.stringify({ pubkey: agent.pubkey })
  const challenge = (signer: Agent, about: Agent, changes: Partial<Draft> = {}): Promise<HttpAnswer> =>
    send(draft(signer, { method: 'POST', target: '/v2/challenges', body: pubkeyOf(about), ...changes }))

  test('spec 3.8: a signed POST /v2/challenges is verified by the key of its body, registered or not', async () => {
    expect(await challenge(stranger, stranger)).toMatchObject({ status: 201 })
    expect(await challenge(alice, alice)).toMatchObject({ status: 201 })
  })

  test.each<[string, number, string, () => Promise<HttpAnswer>]>([
    ['by another registered key', 401, 'signature_invalid', () => challenge(alice, stranger)],
    [
      'by another key in the name of the right one',
      401,
      'signature_invalid',
      () =>
        challenge(new Agent(h.place, stranger.name, other), stranger, {
          edit: replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ` ${stranger.id}:`)),
        }),
    ],
    [
      'by the right key in the name of another one',
      401,
      'signature_invalid',
      () =>
        challenge(stranger, stranger, {
          edit: replace(AUTHORIZATION, (right) => right.replace(/ .*:/, ` ${alice.id}:`)),
        }),
    ],
    ['with one bit flipped', 401, 'signature_invalid', () => challenge(stranger, stranger, { edit: flipBit })],
    [
      'for another authority',
      401,
      'signature_invalid',
      () => challenge(stranger, stranger, { signed: { authority: 'elsewhere.example' } }),
    ],
    [
      'with a timestamp out of range',
      401,
      'timestamp_out_of_range',
      () => challenge(stranger, stranger, { timestamp: unixSeconds() - 120 }),
    ],
    [
      'with an odd nonce',
      401,
      'unauthenticated',
      () => challenge(stranger, stranger, { nonce: freshNonce().slice(1) }),
    ],
    ['with a used nonce', 409, 'nonce_replayed', () => challenge(stranger, stranger, { nonce: used })],
  ])('spec 3.8: a challenge that was asked for %s: %d %s', async (_, status, code, ask) => {
    expectError(await ask(), status, code)
  })
})

function nextDigit(digit = 'A'): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return alphabet[alphabet.indexOf(digit) + 1] ?? ''
}
