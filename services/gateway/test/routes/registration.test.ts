import { admitRequest, issueChallenge, registerAgent } from '@svc/contracts/identity.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Harness, JSON_BODY, startHarness } from '../support/harness.ts'

let h: Harness
beforeAll(async () => {
  h = await startHarness()
})
afterAll(() => h[Symbol.asyncDispose]())

const REGISTER = { method: 'POST', target: '/v2/agents/register', headers: JSON_BODY }
const CHALLENGE = { method: 'POST', target: '/v2/challenges', headers: JSON_BODY }
/** A key of small order, which cannot check any signature. */
const SMALL_ORDER = `ed25519:01${'00'.repeat(31)}`

/** The key of RFC 8032, test 1, and the point of order 2. */
const MIXED_ORDER = 'ed25519:16a567fe7d4ef5482ab4012c369bf8c5f11e8d0c2559dcda50fde59708f8aee5'

function registration(key: KeyPair, changes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    name: 'alice',
    pubkey: formatPublicKey(key.publicKey),
    challenge: 'c',
    nonce: 'n',
    ...changes,
  })
}

function challenge(key: KeyPair): string {
  return JSON.stringify({ pubkey: formatPublicKey(key.publicKey) })
}

const errorOf = (status: number, code: string) => ({ status, body: { error: { code } } })

describe('spec 3.8: on POST /v2/agents/register the key is the body’s', () => {
  test('an unregistered key signs its own registration', async () => {
    const key = createKeyPair()
    expect(await h.sendSigned(key, { ...REGISTER, body: registration(key) })).toMatchObject({ status: 201 })
    expect(h.callsTo(registerAgent).at(-1)?.request).toEqual(JSON.parse(registration(key)))
  })

  test('hex in upper case is the same key (spec 2.2)', async () => {
    const key = createKeyPair()
    const pubkey = `ed25519:${formatPublicKey(key.publicKey).slice(8).toUpperCase()}`
    expect(await h.sendSigned(key, { ...REGISTER, body: registration(key, { pubkey }) })).toMatchObject({ status: 201 })
  })

  test('an unsigned registration is 401 with any body', async () => {
    expect(await h.send({ ...REGISTER, body: '{' })).toMatchObject(errorOf(401, 'unauthenticated'))
  })

  test('the agent id of the header is the id of that key, else signature_invalid', async () => {
    const [key, other] = [createKeyPair(), h.register('other')]
    expect(await h.sendSigned(other, { ...REGISTER, body: registration(key) })).toMatchObject(
      errorOf(401, 'signature_invalid'),
    )
  })

  test('signed by another key under the right id', async () => {
    const key = createKeyPair()
    const forged = { ...createKeyPair(), agentId: key.agentId }
    expect(await h.sendSigned(forged, { ...REGISTER, body: registration(key) })).toMatchObject(
      errorOf(401, 'signature_invalid'),
    )
  })

  test.each([
    ['no JSON', '{', JSON_BODY, 400, 'invalid_json'],
    ['empty', '', JSON_BODY, 400, 'invalid_json'],
    ['another type', '{}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['no object', '[]', JSON_BODY, 400, 'invalid_request'],
    ['without a pubkey', '{}', JSON_BODY, 400, 'invalid_request'],
    ['a pubkey that is not text', '{"pubkey":1}', JSON_BODY, 400, 'invalid_request'],
    ['a pubkey of another form', '{"pubkey":"ed25519:00"}', JSON_BODY, 400, 'invalid_pubkey'],
    ['a pubkey of small order', `{"pubkey":"${SMALL_ORDER}"}`, JSON_BODY, 400, 'invalid_pubkey'],
    ['a pubkey of mixed order', `{"pubkey":"${MIXED_ORDER}"}`, JSON_BODY, 400, 'invalid_pubkey'],
  ])(
    'a body without a key is an error of the body, and consumes no nonce: %s',
    async (_, body, headers, status, code) => {
      const before = h.callsTo(admitRequest).length
      expect(await h.sendSigned(createKeyPair(), { ...REGISTER, body, headers })).toMatchObject(errorOf(status, code))
      expect(h.callsTo(admitRequest)).toHaveLength(before)
    },
  )

  test.each([
    ['an undeclared member', { extra: 1 }],
    ['a missing member', { name: undefined }],
    ['a member of another type', { nonce: 7 }],
  ])('all other faults of the body come after the signature and the nonce: %s', async (_, changes) => {
    const key = createKeyPair()
    const nonce = formatPublicKey(key.publicKey).slice(8, 40)
    const request = { ...REGISTER, body: registration(key, changes) }
    expect(await h.sendSigned(key, request, { authority: 'x' })).toMatchObject(errorOf(401, 'signature_invalid'))
    expect(await h.sendSigned(key, request, { nonce })).toMatchObject(errorOf(400, 'invalid_request'))
    expect(await h.sendSigned(key, { ...REGISTER, body: registration(key) }, { nonce })).toMatchObject(
      errorOf(409, 'nonce_replayed'),
    )
  })

  test('spec 5.6: the identical repeat of a revoked identity is answered, and still consumes its nonce', async () => {
    const key = h.register('gone')
    h.revoked.add(key.agentId)
    const nonce = 'ab'.repeat(16)
    const request = { ...REGISTER, body: registration(key) }
    expect(await h.sendSigned(key, request, { nonce })).toMatchObject({ status: 201, body: { agent_id: key.agentId } })
    expect(await h.sendSigned(key, request, { nonce })).toMatchObject(errorOf(409, 'nonce_replayed'))
  })
})

describe('spec 3.8: POST /v2/challenges is unsigned, or signed by the body’s key', () => {
  test('unsigned', async () => {
    const key = createKeyPair()
    expect(await h.send({ ...CHALLENGE, body: challenge(key) })).toMatchObject({
      status: 201,
      body: { challenge: 'token', difficulty: 18, expires_at: 1, algorithm: 'sha256' },
    })
    expect(h.callsTo(issueChallenge).at(-1)?.request).toEqual(JSON.parse(challenge(key)))
  })

  test('signed by an unregistered key, once per nonce', async () => {
    const key = createKeyPair()
    const request = { ...CHALLENGE, body: challenge(key) }
    const nonce = 'cd'.repeat(16)
    expect(await h.sendSigned(key, request, { nonce })).toMatchObject({ status: 201 })
    expect(h.callsTo(issueChallenge).at(-1)?.request).toEqual({ ...JSON.parse(challenge(key)), key_checked: true })
    expect(await h.sendSigned(key, request, { nonce })).toMatchObject(errorOf(409, 'nonce_replayed'))
  })

  test('a registered signer may not sign for another key', async () => {
    const request = { ...CHALLENGE, body: challenge(createKeyPair()) }
    expect(await h.sendSigned(h.register('alice'), request)).toMatchObject(errorOf(401, 'signature_invalid'))
  })

  test('spec 5.11: a revoked identity can sign only its repeated registration', async () => {
    const key = h.register('gone')
    h.revoked.add(key.agentId)
    expect(await h.sendSigned(key, { ...CHALLENGE, body: challenge(key) })).toMatchObject(
      errorOf(401, 'signer_revoked'),
    )
  })

  test('an undeclared member is 400', async () => {
    expect(await h.send({ ...CHALLENGE, body: '{"pubkey":"x","extra":1}' })).toMatchObject(
      errorOf(400, 'invalid_request'),
    )
  })
})
