import { createPrivateKey, sign } from 'node:crypto'
import { formatPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ALICE_ADDRESS, alice, bob, changes, envelopes, FULL, mallory } from '../test/envelopes.ts'
import type { SignedEnvelope } from './envelope.ts'
import { readEnvelope } from './envelope.ts'
import { parseIJson } from './i-json.ts'
import { jcs } from './jcs.ts'
import { signEnvelope, verifyEnvelope } from './sign-envelope.ts'

const signed = signEnvelope(FULL, alice.secretKey)

describe('spec 6.3: sig is over the UTF-8 bytes of JCS(envelope without sig)', () => {
  test('it equals the signature of node:crypto', () => {
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), alice.secretKey])
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    expect(signed).toEqual({ ...FULL, sig: sign(null, Buffer.from(jcs(FULL)), key).toString('base64') })
  })

  test('the signed text starts with {, so it can never be a request, which starts with SVC1', () => {
    expect(jcs(FULL)).toMatch(/^\{/)
  })

  test('property: it verifies after any transfer as JSON, has the shape of an envelope, and keeps every value', () => {
    fc.assert(
      fc.property(envelopes, fc.constantFrom(0, 2), (envelope, space) => {
        const { value } = parseIJson(Buffer.from(JSON.stringify(signEnvelope(envelope, alice.secretKey), null, space)))
        const received = value as unknown as SignedEnvelope
        expect(readEnvelope(value).sealed).toBe(false)
        expect(received).toEqual({ ...envelope, sig: received.sig })
        expect(verifyEnvelope(received, alice.publicKey)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })

  test('a key from the directory verifies it', () => {
    const key = parsePublicKey(formatPublicKey(alice.publicKey))
    expect(key && verifyEnvelope(signed, key)).toBe(true)
  })
})

describe('spec 6.3: any change makes verification fail', () => {
  const others = {
    id: 'message-2',
    from: bob.agentId,
    to: 'carol@127.0.0.1:8080',
    type: 'response',
    ts: '2026-11-20T12:28:31.0Z',
    ttl: 61,
    reply_to: 'message-9',
    thread_id: 'thread-09',
    body: { text: 'hello', count: 1.5, list: [null, true, '€😁'] },
    sig: signEnvelope({ ...FULL, body: 1 }, alice.secretKey).sig,
    extra: 1,
  }
  test.each(changes(signed, others))('%s', (_, changed) => {
    expect(verifyEnvelope(signed, alice.publicKey)).toBe(true)
    expect(verifyEnvelope(changed, alice.publicKey)).toBe(false)
  })

  test.each([
    ['somebody else signed it', { ...FULL, sig: signEnvelope(FULL, mallory.secretKey).sig }],
    ['sig is not canonical', { ...signed, sig: signed.sig.replace('==', '') }],
    ['sig is of another length', { ...signed, sig: Buffer.alloc(63).toString('base64') }],
    ['sig is no string', { ...signed, sig: 5 as unknown as string }],
    ['it contains a lone surrogate', { ...signed, body: '\ud800' }],
  ])('%s', (_, envelope) => {
    expect(verifyEnvelope(envelope, alice.publicKey)).toBe(false)
  })

  test('a valid signature by a key that is not the key of from', () => {
    const forged = signEnvelope(FULL, mallory.secretKey) // from: alice
    expect(verifyEnvelope(forged, mallory.publicKey)).toBe(false)
  })
})

describe('spec 6.3, 13.5: an address in from', () => {
  const addressed = signEnvelope({ ...FULL, from: ALICE_ADDRESS }, alice.secretKey)

  test("the sender's key verifies it", () => {
    expect(verifyEnvelope(addressed, alice.publicKey)).toBe(true)
  })

  test.each([
    ['another name', { ...addressed, from: 'mallory@127.0.0.1:8080' }],
    ['another authority', { ...addressed, from: 'alice@127.0.0.1:8081' }],
    ['the authority in capitals', { ...addressed, from: ALICE_ADDRESS.replace('127.0.0.1', 'LOCALHOST') }],
    ["the sender's id", { ...addressed, from: alice.agentId }],
  ])('spec 6.3: any change makes verification fail: %s', (_, changed) => {
    expect(verifyEnvelope(changed, alice.publicKey)).toBe(false)
  })

  test("somebody else's key does not verify it, and the caller must know whose key it holds", () => {
    expect(verifyEnvelope(addressed, mallory.publicKey)).toBe(false)
    // An address has no hash of a key: this only says that mallory's key signed it, not that she is alice.
    const forged = signEnvelope({ ...FULL, from: ALICE_ADDRESS }, mallory.secretKey)
    expect(verifyEnvelope(forged, mallory.publicKey)).toBe(true)
    expect(verifyEnvelope(forged, alice.publicKey)).toBe(false)
  })
})
