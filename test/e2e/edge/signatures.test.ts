/** The checks of a request signature and their order, over HTTP, at two gateways and two processes of identity. */

import { beforeAll, describe, expect, test } from 'vitest'
import { Agent, call, type HttpAnswer } from '../../support/client/agent.ts'
import { expectError, expectStamped } from '../../support/client/expect-answer.ts'
import { exchange } from '../../support/client/raw-http.ts'
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
} from '../../support/client/signed-request.ts'
import { bodyTextOf, OPERATIONS, targetOf } from '../../support/description/operations.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let alice: Agent
let bob: Agent
/** Was registered and has revoked itself. */
let revoked: Agent
/** Never registered. */
let stranger: Agent
/** A nonce that each of these agents has used. */
const used = freshNonce()

beforeAll(async () => {
  h = await shareHarness('usual')
  const [first, second, third] = await h.agents(3)
  if (first === undefined || second === undefined || third === undefined) throw new Error('three agents are needed')
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

/** Both gateways, starting with this one. */
function gatewaysFrom(at: number): readonly string[] {
  return [...h.system.urls.slice(at), ...h.system.urls.slice(0, at)]
}

function replace(name: string, value: string | ((right: string) => string | readonly string[])): Draft['edit'] {
  return (headers) => ({ ...headers, [name]: typeof value === 'string' ? value : value(headers[name] ?? '') })
}

const flipBit = replace(AUTHORIZATION, (right) => {
  const [, head = '', base64 = ''] = /^(SVC [^:]+:)(.*)$/.exec(right) ?? []
  const bytes = Buffer.from(base64, 'base64')
  bytes[40] = (bytes[40] ?? 0) ^ 1
  return head + bytes.toString('base64')
})

describe('a correct request', () => {
  test.each<[string, () => Partial<Draft>]>([
    ['a query, in the order in which it was signed', () => ({ target: '/v2/contacts?limit=5&after=a' })],
    [
      'another Host header: the authority is the one that the manifest announces',
      () => ({ edit: replace('host', 'elsewhere.example') }),
    ],
    ['a gateway whose port differs from that of the authority', () => ({ url: h.system.urls[1] ?? '' })],
  ])('spec 3.3: %s', async (_, changes) => {
    const answer = await use(draft(alice, changes()), 200)
    expectStamped(answer)
  })

  test('spec 3.3: a chunked body', async () => {
    const request = draft(alice, { method: 'PATCH', body: '{}' })
    const headers = { ...headersOf(request), 'transfer-encoding': 'chunked' }
    const { method, target, body } = request
    expect(await exchange(alice.place.url, { method, target, headers, body })).toMatchObject({ status: 200 })
  })
})

test('spec 6.3: a signature of an envelope is not valid for a request', async () => {
  const { sig } = alice.envelope(bob)
  const edit = replace(AUTHORIZATION, (right) => right.replace(/:[^:]*$/, `:${sig}`))
  expectError(await send(draft(alice, { edit })), 401, 'signature_invalid')
})

describe('spec 3.7: nonces', () => {
  test('spec 3.7: 409 nonce_replayed: the same request again, at either gateway', async () => {
    const request = draft(alice)
    await use(request, 200)
    for (const url of h.system.urls) expectError(await send({ ...request, url }), 409, 'nonce_replayed')
  })

  test.each<[string, (nonce: string) => Partial<Draft>]>([
    ['at another gateway', (nonce) => ({ nonce, url: gatewaysFrom(1)[0] ?? '' })],
    ['on a path where the signature is optional', (nonce) => ({ nonce, target: '/v2/agents' })],
  ])('spec 3.7: 409 nonce_replayed: a used nonce %s', async (_, changes) => {
    const nonce = `abcdef${freshNonce(13)}`
    await use(draft(alice, { nonce, url: h.place.url }), 200)
    expectError(await send(draft(alice, changes(nonce))), 409, 'nonce_replayed')
  })

  test('spec 3.7: each signer has its own nonces', async () => {
    const nonce = freshNonce()
    await use(draft(alice, { nonce }), 200)
    await use(draft(bob, { nonce }), 200)
  })

  test('of many different concurrent requests with one nonce, exactly one is accepted', async () => {
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

// services/gateway/test/auth/signature.test.ts has every pair of errors.
describe('spec 3.5: each check', () => {
  type Put = (right: Partial<Draft>) => Partial<Draft>
  const faults: [string, number, string, Put][] = [
    ['a body over 96 KiB', 413, 'body_too_large', (right) => ({ ...right, method: 'PATCH', body: ' '.repeat(98_305) })],
    ['an odd nonce', 401, 'unauthenticated', withEdit(replace(NONCE, (right) => right.slice(1)))],
    [
      'a timestamp out of range',
      401,
      'timestamp_out_of_range',
      (right) => ({ ...right, timestamp: unixSeconds() - 120 }),
    ],
    ['an unknown signer', 401, 'signer_unknown', (right) => ({ ...right, signer: stranger })],
    ['a signature that does not match', 401, 'signature_invalid', withEdit(flipBit)],
    ['a revoked signer', 401, 'signer_revoked', (right) => ({ ...right, signer: revoked })],
    ['a used nonce', 409, 'nonce_replayed', (right) => ({ ...right, nonce: used })],
    ['an unknown path', 404, 'not_found', (right) => ({ ...right, target: '/v2/nothing' })],
    ['a body that is not JSON', 400, 'invalid_json', (right) => ({ method: 'PATCH', body: '{', ...right })],
  ]
  test.each(faults)('spec 3.5: %s alone: %d %s', async (_, status, code, put) => {
    expectError(await send(draft(alice, put({}))), status, code)
  })

  function withEdit(edit: Draft['edit']): Put {
    return ({ edit: others = (headers: Record<string, string>): HeaderLines => headers, ...right }) => ({
      ...right,
      edit: (headers) => edit(others(headers) as Record<string, string>),
    })
  }
})

describe('spec 3.1: who needs a signature', () => {
  const required = OPERATIONS.filter(({ auth }) => auth === 'required')
  const optional = OPERATIONS.filter(({ auth }) => auth === 'optional')

  test.each(required)('spec 12.1: $method $path without one: 401 unauthenticated', async (operation) => {
    const body = bodyTextOf(operation)
    const sent = body === undefined ? {} : { body }
    expectError(await call(h.place, operation.method, targetOf(operation), sent), 401, 'unauthenticated')
    // The other two headers are not credentials.
    const headers = { [TIMESTAMP]: String(unixSeconds()), [NONCE]: freshNonce() }
    expectError(
      await call(h.place, operation.method, targetOf(operation), { ...sent, headers }),
      401,
      'unauthenticated',
    )
  })

  test.each(optional)('spec 12.1: $method $path without a signature is answered', async (operation) => {
    const body = bodyTextOf(operation)
    const answer = await call(h.place, operation.method, targetOf(operation), body === undefined ? {} : { body })
    expect([...operation.success, ...operation.faults]).toContain(answer.status)
    expectStamped(answer)
  })

  test('spec 3.1: a supplied signature must be valid, even if none is required', async () => {
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

describe('spec 3.8: the key in the body', () => {
  const pubkeyOf = (agent: Agent): string => JSON.stringify({ pubkey: agent.pubkey })
  const challenge = (signer: Agent, about: Agent, changes: Partial<Draft> = {}): Promise<HttpAnswer> =>
    send(draft(signer, { method: 'POST', target: '/v2/challenges', body: pubkeyOf(about), ...changes }))

  test('spec 3.8: a signed POST /v2/challenges is verified by the key of its body, registered or not', async () => {
    expect(await challenge(stranger, stranger)).toMatchObject({ status: 201 })
    expect(await challenge(alice, alice)).toMatchObject({ status: 201 })
  })

  test.each<[string, number, string, () => Promise<HttpAnswer>]>([
    ['by another registered key', 401, 'signature_invalid', () => challenge(alice, stranger)],
    ['with a used nonce', 409, 'nonce_replayed', () => challenge(stranger, stranger, { nonce: used })],
  ])('spec 3.8: a challenge that was requested %s: %d %s', async (_, status, code, ask) => {
    expectError(await ask(), status, code)
  })
})
