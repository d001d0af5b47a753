import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ALICE_ADDRESS, alice, bob, changes, envelopes, FULL, mallory } from '../test/envelopes.ts'
import { readEnvelope, type SealedEnvelope } from './envelope.ts'
import { parseIJson } from './i-json.ts'
import { jcs } from './jcs.ts'
import { decryptEnvelope, openEnvelope, SealError, sealEnvelope } from './seal.ts'
import { signEnvelope } from './sign-envelope.ts'

const { body: BODY, ...HEAD } = FULL
const signed = signEnvelope(FULL, alice.secretKey)
const sealed = await sealEnvelope(FULL, bob.publicKey, alice.secretKey)
const open = (envelope: SealedEnvelope) => openEnvelope(envelope, bob.secretKey, alice.publicKey)

// test/judges/crypto.test.ts seals with one implementation of RFC 9180 and opens with another.
describe('spec 6.4: sealing is RFC 9180 HPKE, base mode, for the X25519 form of the recipient key', () => {
  test('property: after any transfer as JSON it opens to the signed envelope, and has the shape of an envelope', async () => {
    await fc.assert(
      fc.asyncProperty(envelopes, async (envelope) => {
        const { value } = parseIJson(
          Buffer.from(JSON.stringify(await sealEnvelope(envelope, bob.publicKey, alice.secretKey))),
        )
        const { sealed: isSealed, payloadBytes } = readEnvelope(value)
        expect(isSealed).toBe(true)
        const opened = await open(value as unknown as SealedEnvelope)
        expect(opened).toEqual(signEnvelope(envelope, alice.secretKey))
        expect(payloadBytes).toBe(Buffer.byteLength(jcs({ body: opened.body, sig: opened.sig })) + 16)
      }),
      { numRuns: 30 },
    )
  }, 60_000)

  test('no two sealings of one envelope are equal, and nothing of the body is visible', async () => {
    const again = await sealEnvelope(FULL, bob.publicKey, alice.secretKey)
    expect(again.ephemeral_pub).not.toBe(sealed.ephemeral_pub)
    expect(again.body_enc).not.toBe(sealed.body_enc)
    expect(Object.keys(sealed).sort()).toEqual([...Object.keys(HEAD), 'body_enc', 'ephemeral_pub'].sort())
  })

  test('an agent can seal for itself', async () => {
    const own = await sealEnvelope(FULL, alice.publicKey, alice.secretKey)
    expect(await openEnvelope(own, alice.secretKey, alice.publicKey)).toEqual(signed)
  })

  test('spec 2.2: an invalid recipient key is refused', async () => {
    const smallOrder = new Uint8Array(32).fill(1, 0, 1)
    await expect(sealEnvelope(FULL, smallOrder, alice.secretKey)).rejects.toThrow(RangeError)
    await expect(sealEnvelope(FULL, bob.publicKey.subarray(1), alice.secretKey)).rejects.toThrow(RangeError)
  })
})

describe('spec 6.4: any change makes opening fail', () => {
  const others = {
    id: 'message-2',
    from: mallory.agentId,
    to: 'carol@127.0.0.1:8080',
    type: 'response',
    ts: '2026-11-20T12:28:31.0Z',
    ttl: 61,
    reply_to: 'message-9',
    thread_id: 'thread-09',
    ephemeral_pub: Buffer.alloc(32, 9).toString('base64'),
    body_enc: Buffer.alloc(100).toString('base64'),
    body: BODY,
    sig: signed.sig,
    extra: 1,
  }
  test.each(changes(sealed, others))('%s', async (_, changed) => {
    await expect(open(sealed)).resolves.toEqual(signed)
    await expect(open(changed)).rejects.toThrow(SealError)
  })

  test('property: any bit of the ciphertext, its tag or the ephemeral key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('body_enc', 'ephemeral_pub'), fc.nat(), async (member, at) => {
        const bytes = Buffer.from(sealed[member], 'base64')
        const bit = at % (bytes.length * 8)
        // X25519 ignores the highest bit of a key (RFC 7748). The aad contains the text of the key, so it detects that
        // change.
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        await expect(open({ ...sealed, [member]: bytes.toString('base64') })).rejects.toThrow(SealError)
      }),
      { numRuns: 40, examples: [['ephemeral_pub', 255]] },
    )
  }, 60_000)

  test.each([
    ['somebody else', mallory.secretKey, alice.publicKey],
    ['the recipient, taking it for somebody else’s', bob.secretKey, mallory.publicKey],
  ])('opened by %s', async (_, secretKey, senderPublicKey) => {
    await expect(openEnvelope(sealed, secretKey, senderPublicKey)).rejects.toThrow(SealError)
  })
})

// docs/vectors/verdicts.json has plaintexts, keys of small order and signatures that a hostile sender may make.
describe('a hostile sender', () => {
  test("that seals in another agent's name is detected by the signature inside", async () => {
    const forged = await sealEnvelope(FULL, bob.publicKey, mallory.secretKey) // from: alice
    await expect(open(forged)).rejects.toThrow('not signed by its sender')
    // decrypting alone returns the content, but does not prove who sealed it
    expect(await decryptEnvelope(forged, bob.secretKey)).toEqual(signEnvelope(FULL, mallory.secretKey))
  })

  test('that seals in the name of an address is detected by the key of that address', async () => {
    const addressed = { ...FULL, from: ALICE_ADDRESS }
    const honest = await sealEnvelope(addressed, bob.publicKey, alice.secretKey)
    expect(await open(honest)).toEqual(signEnvelope(addressed, alice.secretKey))
    await expect(open(await sealEnvelope(addressed, bob.publicKey, mallory.secretKey))).rejects.toThrow(
      'not signed by its sender',
    )
    await expect(open({ ...honest, from: alice.agentId })).rejects.toThrow(SealError)
  })

  test.each<[string, object]>([
    ['a signed envelope', signed],
    ['numbers for strings', { ...sealed, body_enc: 1, ephemeral_pub: 2 }],
    ['a lone surrogate', { ...sealed, thread_id: '\ud800' }],
    ['nothing', {}],
  ])('or a server that delivers anything but a sealed envelope is refused: %s', async (_, envelope) => {
    await expect(open(envelope as SealedEnvelope)).rejects.toThrow('not a sealed envelope')
  })
})
