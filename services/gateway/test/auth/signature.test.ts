import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  AUTHORITY,
  type Harness,
  JSON_BODY,
  type Outgoing,
  type Signing,
  signatureOf,
  startHarness,
} from '../support/harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

let nonces = 0
/** 16 bytes that were not used before. */
function freshNonce(): string {
  nonces += 1
  return nonces.toString(16).padStart(32, 'a')
}

describe('spec 2.4, 3.2, 4.1: unauthenticated says what is missing or malformed', () => {
  const good = () => signatureOf(h.register('alice'), { target: '/v2/me' })

  test.each<[string, (headers: Record<string, string>) => Record<string, string | string[]>, string]>([
    ['nothing', () => ({}), 'this operation must be signed, and no Authorization header arrived'],
    [
      'all but Authorization',
      ({ authorization: _, ...rest }) => rest,
      'this operation must be signed, and X-SVC-Timestamp and X-SVC-Nonce arrived without Authorization: a proxy may have removed it',
    ],
    [
      'no timestamp',
      ({ 'x-svc-timestamp': _, ...rest }) => rest,
      'X-SVC-Timestamp is missing: a proxy may have removed it',
    ],
    ['no nonce', ({ 'x-svc-nonce': _, ...rest }) => rest, 'X-SVC-Nonce is missing: a proxy may have removed it'],
    [
      'another scheme',
      (rest) => ({ ...rest, authorization: 'Bearer secret' }),
      'Authorization must have the scheme SVC',
    ],
    [
      'base64 without padding',
      (rest) => ({ ...rest, authorization: rest.authorization?.replace('==', '') ?? '' }),
      'Authorization must be SVC <agent id>:<64 bytes in padded base64>',
    ],
    [
      'Authorization twice',
      (rest) => ({ ...rest, authorization: [rest.authorization ?? '', rest.authorization ?? ''] }),
      'Authorization must be sent only once',
    ],
    [
      'a date',
      (rest) => ({ ...rest, 'x-svc-timestamp': '2026-01-01T00:00:00Z' }),
      'X-SVC-Timestamp must be whole Unix seconds',
    ],
    [
      'a short nonce',
      (rest) => ({ ...rest, 'x-svc-nonce': 'ab' }),
      'X-SVC-Nonce must be an even number of hex digits, 32 to 128',
    ],
    [
      'a nonce twice',
      (rest) => ({ ...rest, 'x-svc-nonce': [rest['x-svc-nonce'] ?? '', 'b'.repeat(32)] }),
      'X-SVC-Nonce must be sent only once',
    ],
  ])('%s', async (_, change, message) => {
    const answer = await h.send({ target: '/v2/me', headers: change(good()) })
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'unauthenticated', message } } })
  })
})

describe('spec 4.1: signature_invalid says what the server signed over', () => {
  const messageOf = async (request: Outgoing, signing: Signing) => {
    const answer = await h.sendSigned(h.register('alice'), request, signing)
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'signature_invalid' } } })
    return (answer.body as { error: { message: string } }).error.message
  }
  const seen = (method: string, target: string, body: string) =>
    `the signature does not match the key and these parts: the authority of this service, ${AUTHORITY}; method ${method}; path and query ${target}; ${body}; and the sent timestamp and nonce`

  test.each<[string, Outgoing, Signing, string]>([
    [
      'another authority',
      { target: '/v2/inbox?limit=1' },
      { authority: 'agents.test' },
      seen('GET', '/v2/inbox?limit=1', 'no body'),
    ],
    [
      'a body that was serialized again',
      { method: 'PATCH', target: '/v2/me', headers: JSON_BODY, body: '{"discoverable": true}' },
      { body: '{"discoverable":true}' },
      seen('PATCH', '/v2/me', 'a body of 22 bytes'),
    ],
    [
      'bytes that a message must not have',
      { target: '/v2/a?"\\<%22' },
      { target: '/x' },
      seen('GET', '/v2/a?\\x22\\x5c<%22', 'no body'),
    ],
    [
      'a long target',
      { target: `/v2/${'x'.repeat(400)}` },
      { target: '/x' },
      seen('GET', `/v2/${'x'.repeat(156)}… (404 bytes)`, 'no body'),
    ],
  ])('%s', async (_, request, signing, message) => {
    expect(await messageOf(request, signing)).toBe(message)
  })

  test('spec 3.8: an agent id that is not that of the key in the body', async () => {
    const pubkey = `ed25519:${Buffer.from(createKeyPair().publicKey).toString('hex')}`
    const request = { method: 'POST', target: '/v2/challenges', headers: JSON_BODY, body: JSON.stringify({ pubkey }) }
    expect(await messageOf(request, {})).toBe('the agent id in Authorization is not the id of the pubkey in the body')
  })

  test('it holds no signature, timestamp, nonce or body', async () => {
    const alice = h.register('alice')
    const request = { method: 'PATCH', target: '/v2/me', headers: JSON_BODY, body: '{"discoverable":true}' }
    const headers = signatureOf(alice, request, { authority: 'other.test', nonce: freshNonce() })
    const { text } = await h.send({ ...request, headers: { ...JSON_BODY, ...headers } })
    expect(text).toContain('signature_invalid')
    for (const value of [...Object.values(headers), alice.agentId, 'discoverable']) expect(text).not.toContain(value)
  })
})

// ../http/vectors.test.ts has the order of the checks, nonces, the bounds of the timestamp, and a wrong signature for each line.
test('spec 3.3: a target that is not ASCII is signed as it was sent', async () => {
  const alice = h.register('alice')
  const target = Buffer.from('/v2/me?é')
  const { signRequest } = await import('@svc/svc1/sign.ts')
  // signRequest encodes its lines as UTF-8, so the target is given as text here and sent as those bytes below
  const headers = Object.entries(signRequest(alice, { authority: AUTHORITY, method: 'GET', target: target.toString() }))
  const rest = ['Host: x', 'Connection: close', ...headers.map((h) => h.join(': '))].join('\r\n')
  const bytes = Buffer.concat([Buffer.from('GET '), target, Buffer.from(` HTTP/1.1\r\n${rest}\r\n\r\n`)])
  const answer = await h.sendRaw(bytes)
  expect(answer).toContain('invalid_request') // the signature was right: this is about the query
})
