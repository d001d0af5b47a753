import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rfc8032 } from '../test/vectors.ts'
import { parseAuthorization, parseNonce, parseTimestamp } from './headers.ts'
import { createKeyPair } from './key-pair.ts'
import { importPublicKey, verifyRequestNode } from './node/verify-node.ts'
import { signBytes, signRequest } from './sign.ts'
import { EMPTY_BODY_SHA256, signedString } from './signed-string.ts'
import { verifySignature } from './verify.ts'

const key = createKeyPair(Uint8Array.from({ length: 32 }, (_, i) => i))
const request = { authority: '127.0.0.1:8080', method: 'POST', target: '/v2/messages' }

describe('spec 3.3: the signed string', () => {
  test('seven lines joined by line feeds, none after the last', () => {
    const text = signedString({
      authority: 'agents.example:8443',
      method: 'GET',
      target: '/v2/inbox?limit=5&after=%41',
      timestamp: '1763640000',
      nonce: 'Ab'.repeat(16),
      bodySha256Hex: EMPTY_BODY_SHA256,
    })
    expect(text.split('\n')).toEqual([
      'SVC1',
      'agents.example:8443',
      'GET',
      '/v2/inbox?limit=5&after=%41',
      '1763640000',
      'Ab'.repeat(16),
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    ])
  })
})

describe('signing a request', () => {
  test.each(rfc8032)(
    '$name: the key and the signature of the vector',
    ({ secretKey, publicKey, message, signature }) => {
      expect(createKeyPair(secretKey).publicKey).toEqual(publicKey)
      expect(signBytes(message, secretKey)).toEqual(signature)
    },
  )

  test('property: the headers are well formed and both verifiers accept them', () => {
    const node = importPublicKey(key.publicKey)
    const nonces = fc.option(
      fc.uint8Array({ minLength: 16, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    )
    fc.assert(
      fc.property(
        fc.record({
          authority: fc.domain(),
          method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
          target: fc.webPath().map((path) => `/${path}`),
          body: fc.option(fc.uint8Array({ maxLength: 200 })),
          timestamp: fc.nat(2 ** 31),
          nonce: nonces,
        }),
        ({ body, nonce, ...parts }) => {
          const headers = signRequest(key, { ...parts, body: body ?? undefined, nonce: nonce ?? undefined })
          expect(parseTimestamp(headers['x-svc-timestamp'])).toBe(parts.timestamp)
          expect(parseNonce(headers['x-svc-nonce'])).toBeDefined()
          if (nonce !== null) expect(headers['x-svc-nonce']).toBe(nonce)
          const authorization = parseAuthorization(headers.authorization)
          expect(authorization?.agentId).toBe(key.agentId)
          const signed = Buffer.from(
            signedString({
              ...parts,
              timestamp: headers['x-svc-timestamp'],
              nonce: headers['x-svc-nonce'],
              bodySha256Hex: createHash('sha256')
                .update(body ?? '')
                .digest('hex'),
            }),
          )
          const signature = authorization?.signature ?? new Uint8Array(64)
          expect(verifySignature(signature, signed, key.publicKey)).toBe(true)
          expect(verifyRequestNode(signature, signed, node)).toBe(true)
        },
      ),
      { numRuns: 30 },
    )
  })

  test('an absent body is signed like an empty one', () => {
    const fixed = { ...request, timestamp: 1, nonce: 'a'.repeat(32) }
    expect(signRequest(key, fixed)).toEqual(signRequest(key, { ...fixed, body: new Uint8Array() }))
  })

  test("every signature has a new nonce of 16 bytes, and the clock's time", () => {
    const before = Math.floor(Date.now() / 1000)
    const [one, two] = [signRequest(key, request), signRequest(key, request)]
    expect(one['x-svc-nonce']).toMatch(/^[0-9a-f]{32}$/)
    expect(one['x-svc-nonce']).not.toBe(two['x-svc-nonce'])
    expect(Number(one['x-svc-timestamp'])).toBeGreaterThanOrEqual(before)
    expect(Number(one['x-svc-timestamp'])).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000))
  })

  test('spec 13.6: a new key pair is random, and a secret key of another length is refused', () => {
    expect(createKeyPair().agentId).not.toBe(createKeyPair().agentId)
    expect(() => createKeyPair(new Uint8Array(64))).toThrow(RangeError)
  })
})
