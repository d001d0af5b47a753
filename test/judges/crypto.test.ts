/**
 * Signatures, seals and canonical JSON against libraries of other authors, on our published vectors and on random inputs:
 * tweetnacl for Ed25519 and X25519, hpke for RFC 9180, json-canonicalize for RFC 8785.
 */
import { readFileSync } from 'node:fs'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import { jcs } from '@svc/envelope/jcs.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { openEnvelope, sealEnvelope } from '@svc/envelope/seal.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { isPublicKey } from '@svc/svc1/public-key.ts'
import { signBytes } from '@svc/svc1/sign.ts'
import { verifySignature } from '@svc/svc1/verify.ts'
import fc from 'fast-check'
import { canonicalize } from 'json-canonicalize'
import nacl from 'tweetnacl'
import { describe, expect, test } from 'vitest'
import { alice, bob, envelopes as envelopesOfAlice } from '../../libs/envelope/test/envelopes.ts'
import { jsonValues } from '../../libs/envelope/test/json-texts.ts'
import { type ExpectedFailures, expectOnly } from './expected.ts'
import { openWithPanva, sealWithPanva, x25519Public } from './panva-hpke.ts'

const ROOT = new URL('../../', import.meta.url)

function read<Shape>(path: string): Shape {
  return JSON.parse(readFileSync(new URL(path, ROOT), 'utf8')) as Shape
}

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))
const utf8 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text))
const base64 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64'))

describe('tweetnacl', () => {
  interface Signatures {
    cases: { about: string; public_key: string; message: string; signature: string; valid: boolean }[]
  }
  interface Requests {
    requests: { secret_key: string; signed_string: string; headers: Record<string, string> }[]
  }
  const { cases } = read<Signatures>('docs/vectors/signatures.json')
  const { requests } = read<Requests>('docs/vectors/requests.json')

  const ANY_S = 'tweetnacl does not compare S with the order of the group; spec 3.4 wants S < L'
  const ANY_KEY = 'tweetnacl accepts every key that decodes; spec 2.2 refuses keys of small and of mixed order'
  const VERDICTS: ExpectedFailures = {
    'S + L in the place of S': ANY_S,
    'S + L, of this key': ANY_S,
    'S + 8 L': ANY_S,
    'R the identity, canonical': 'tweetnacl compares the bytes of R only; spec 3.4 refuses an R of small order',
    'a key of small order': ANY_KEY,
    'the key is the identity, and the equation holds': ANY_KEY,
    'the key is the identity, its y not reduced, and the equation holds': ANY_KEY,
    'a key of mixed order, and the equation holds without the cofactor': ANY_KEY,
  }

  test('spec 3.4: it gives the published verdicts, except where it is known to be laxer', () => {
    const differs = cases.filter(({ public_key, message, signature, valid }) => {
      return nacl.sign.detached.verify(hex(message), hex(signature), hex(public_key)) !== valid
    })
    expect(cases.length).toBeGreaterThan(10)
    expect(differs.filter(({ valid }) => valid)).toEqual([])
    expectOnly(
      differs.map(({ about }) => about),
      VERDICTS,
    )
  })

  test('spec 3.3, 14.3: it makes the published signatures of requests', () => {
    expect(requests.length).toBeGreaterThan(0)
    for (const { secret_key, signed_string, headers } of requests) {
      const { secretKey } = nacl.sign.keyPair.fromSeed(hex(secret_key))
      const signature = Buffer.from(nacl.sign.detached(utf8(signed_string), secretKey)).toString('base64')
      expect(headers.authorization?.split(':')[1]).toBe(signature)
    }
  })

  const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })

  test('spec 2.2, 3.4: property: the same key, the same signature, and either accepts it of the other', () => {
    fc.assert(
      fc.property(seeds, fc.uint8Array({ maxLength: 300 }), fc.nat(511), (seed, message, bit) => {
        const theirs = nacl.sign.keyPair.fromSeed(seed)
        const { publicKey, secretKey } = createKeyPair(seed)
        expect(publicKey).toEqual(theirs.publicKey)
        expect(isPublicKey(theirs.publicKey)).toBe(true)
        const signature = signBytes(message, secretKey)
        expect(signature).toEqual(nacl.sign.detached(message, theirs.secretKey))
        expect(nacl.sign.detached.verify(message, signature, publicKey)).toBe(true)
        expect(verifySignature(signature, message, theirs.publicKey)).toBe(true)
        signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(nacl.sign.detached.verify(message, signature, publicKey)).toBe(false)
        expect(verifySignature(signature, message, publicKey)).toBe(false)
      }),
      { numRuns: 30 },
    )
  })
})

describe('hpke and tweetnacl', () => {
  interface Party {
    secret_key: string
    public_key: string
  }
  interface Row {
    inner_sig: string
    inner_signed_bytes: string
    recipient_x25519_public_key: string
    aad: string
    plaintext: string
    ciphertext: string
    enc: string
  }
  type Vectors = Record<'sender' | 'recipient', Party> & Record<'sealed' | 'sealed_by_address', Row>
  const { sender, recipient, sealed, sealed_by_address } = read<Vectors>('docs/vectors/envelopes.json')

  test.each([
    ['an agent id', sealed],
    ['an address', sealed_by_address],
  ])('spec 6.4, 14.5: they open the published envelope with %s in from', async (_, row) => {
    const secret = hex(recipient.secret_key)
    expect(Buffer.from(x25519Public(secret)).toString('hex')).toBe(row.recipient_x25519_public_key)
    const given = { enc: hex(row.enc), ciphertext: hex(row.ciphertext), aad: utf8(row.aad) }
    expect(Buffer.from(await openWithPanva(secret, given)).toString()).toBe(row.plaintext)
    const signature = base64(row.inner_sig)
    expect(nacl.sign.detached.verify(utf8(row.inner_signed_bytes), signature, hex(sender.public_key))).toBe(true)
  })

  test('spec 6.3, 6.4: property: what we seal opens to JCS({"body":…,"sig":…}), and what they seal opens with us', async () => {
    await fc.assert(
      fc.asyncProperty(envelopesOfAlice, async (envelope) => {
        const { body, sig, ...head } = signEnvelope(envelope, alice.secretKey)
        const plaintext = canonicalize({ body, sig })
        const ours = await sealEnvelope(envelope, bob.publicKey, alice.secretKey)
        expect(await opened(ours)).toBe(plaintext)
        const signedBytes = utf8(canonicalize({ ...head, body }))
        expect(nacl.sign.detached.verify(signedBytes, base64(sig), alice.publicKey)).toBe(true)
        const theirs = await sealedByThem(head, plaintext)
        expect(await openEnvelope(theirs, bob.secretKey, alice.publicKey)).toEqual({ ...head, body, sig })
      }),
      { numRuns: 30 },
    )
  })

  async function opened({ body_enc, ...outer }: SealedEnvelope): Promise<string> {
    const given = { enc: base64(outer.ephemeral_pub), ciphertext: base64(body_enc), aad: utf8(canonicalize(outer)) }
    return Buffer.from(await openWithPanva(bob.secretKey, given)).toString()
  }

  async function sealedByThem(head: Omit<SignedEnvelope, 'body' | 'sig'>, plaintext: string): Promise<SealedEnvelope> {
    const outer = (enc: Uint8Array) => ({ ...head, ephemeral_pub: Buffer.from(enc).toString('base64') })
    const { enc, ciphertext } = await sealWithPanva(
      x25519Public(bob.secretKey),
      (ephemeral) => utf8(canonicalize(outer(ephemeral))),
      utf8(plaintext),
    )
    return { ...outer(enc), body_enc: Buffer.from(ciphertext).toString('base64') }
  }
})

describe('json-canonicalize', () => {
  interface JsonTexts {
    cases: { sent: string; canonical: string }[]
  }

  test('spec 2.6: it writes the published canonical forms', () => {
    const { cases } = read<JsonTexts>('docs/vectors/json.json')
    expect(cases.length).toBeGreaterThan(5)
    for (const { sent, canonical } of cases) expect(canonicalize(JSON.parse(sent))).toBe(canonical)
  })

  test('spec 2.6: property: it writes the same text for any JSON value', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        expect(jcs(value)).toBe(canonicalize(value as JsonValue))
      }),
      { numRuns: 1000 },
    )
  })
})
