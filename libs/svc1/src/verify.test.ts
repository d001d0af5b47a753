import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeScalar, encodeScalar, secretScalar, signWith, TORSION } from '../test/ed25519-points.ts'
import { engines } from '../test/engines.ts'
import { hex, rfc8032, type SignatureVector, smallOrder, speccheck, wycheproof, zip215 } from '../test/vectors.ts'
import { ORDER, Point } from './ed25519.ts'
import { createKeyPair } from './key-pair.ts'
import { importPublicKey, verifyRequestNode } from './node/verify-node.ts'
import { isPublicKey } from './public-key.ts'
import { signBytes } from './sign.ts'
import { verifySignature } from './verify.ts'

/** The verdict of the client, and of the server with each engine, all with the key rule of spec 2.2. Throws if they differ. */
function agreed({ signature, message, publicKey }: Omit<SignatureVector, 'name'>): boolean {
  const client = verifySignature(signature, message, publicKey)
  const isAllowed = isPublicKey(publicKey)
  for (const engine of engines) {
    expect(engine.isPublicKey(publicKey), `${engine.name} and the client allow the same keys`).toBe(isAllowed)
    const server = isAllowed && verifyRequestNode(signature, message, importPublicKey(publicKey, engine))
    expect(server, `${engine.name} and the client give the same verdict`).toBe(client)
  }
  return client
}

describe('spec 3.4: one verdict on every vector', () => {
  test.each(rfc8032)('$name is accepted', (vector) => {
    expect(agreed(vector)).toBe(true)
  })

  const wellFormed = wycheproof.filter(({ signature }) => signature.length === 64)
  test('wycheproof: all its keys are of prime order, so its verdicts are ours', () => {
    expect(wellFormed.length).toBeGreaterThan(120)
    expect(wycheproof.every(({ publicKey }) => isPublicKey(publicKey))).toBe(true)
  })
  test.each(wellFormed)('$name: $valid', (vector) => {
    expect(agreed(vector)).toBe(vector.valid)
  })
  test.each(wycheproof.filter(({ signature }) => signature.length !== 64))(
    '$name: another length, RangeError',
    (vector) => {
      expect(vector.valid).toBe(false)
      expect(() => verifySignature(vector.signature, vector.message, vector.publicKey)).toThrow(RangeError)
      expect(() => verifyRequestNode(vector.signature, vector.message, importPublicKey(vector.publicKey))).toThrow(
        RangeError,
      )
    },
  )

  // "Taming the many EdDSAs", table 5, with the verdicts of spec 2.2 and 3.4.
  test.each([
    [0, 'key of small order'],
    [1, 'key of small order'],
    [2, 'key of mixed order'],
    [3, 'key of mixed order'],
    [4, 'key of mixed order'],
    [5, 'key of mixed order'],
    [6, 'S >= L'],
    [7, 'S >= L'],
    [8, 'key of mixed order'],
    [9, 'key of mixed order'],
    [10, 'key of small order, not canonical'],
    [11, 'key of small order, not canonical'],
  ])('speccheck %d is refused: %s', (index, reason) => {
    const vector = speccheck[index]
    expect(vector).toBeDefined()
    if (vector === undefined) return
    expect(agreed(vector)).toBe(false)
    expect(isPublicKey(vector.publicKey)).toBe(!reason.startsWith('key'))
    expect(decodeScalar(vector.signature.subarray(32)) >= ORDER).toBe(reason === 'S >= L')
  })

  test('zip215: all 196 are refused', () => {
    expect(zip215).toHaveLength(196)
    expect(zip215.filter(agreed)).toEqual([])
  })

  test('spec 2.2: no message verifies under the identity as key', () => {
    const publicKey = Point.ZERO.toBytes()
    const signature = Uint8Array.from([...publicKey, ...new Uint8Array(32)])
    for (let i = 0; i < 64; i++) expect(agreed({ signature, message: Uint8Array.of(i), publicKey })).toBe(false)
  })
})

describe('spec 3.4: S < L, R is not of small order, and its bytes equal the encoding of S·B − k·A', () => {
  const { secretKey, publicKey } = createKeyPair(new Uint8Array(32).fill(7))
  const secret = secretScalar(secretKey)
  const messages = fc.uint8Array({ maxLength: 100 })
  const scalars = fc.bigInt({ min: 1n, max: ORDER - 1n })

  test('property: a valid signature is accepted; with any bit changed, or for another message, it is refused', () => {
    fc.assert(
      fc.property(messages, fc.nat(511), (message, bit) => {
        const signature = signBytes(message, secretKey)
        expect(agreed({ signature, message, publicKey })).toBe(true)
        expect(agreed({ signature, message: Uint8Array.from([...message, 0]), publicKey })).toBe(false)
        signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(agreed({ signature, message, publicKey })).toBe(false)
      }),
      { numRuns: 30 },
    )
  })

  test('property: S + L is refused', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const signature = signBytes(message, secretKey)
        signature.set(encodeScalar(decodeScalar(signature.subarray(32)) + ORDER), 32)
        expect(agreed({ signature, message, publicKey })).toBe(false)
      }),
      { numRuns: 10 },
    )
  })

  test('property: R with torsion is refused, although the equation with the cofactor holds', () => {
    fc.assert(
      fc.property(messages, scalars, fc.bigInt({ min: 0n, max: 7n }), (message, r, torsion) => {
        const point = torsion === 0n ? Point.BASE.multiply(r) : Point.BASE.multiply(r).add(TORSION.multiply(torsion))
        const signature = signWith({ r, rBytes: point.toBytes() }, { secret, publicKey }, message)
        expect(agreed({ signature, message, publicKey })).toBe(torsion === 0n)
      }),
      { numRuns: 20 },
    )
  })

  // S·B − k·A is the identity. Each R differs from it by a point of small order, and one R has exactly its bytes.
  test.each(smallOrder)('R of small order is refused, although the equation with the cofactor holds: %s', (r) => {
    const message = Uint8Array.of(1)
    expect(
      agreed({ signature: signWith({ r: 0n, rBytes: hex(r) }, { secret, publicKey }, message), message, publicKey }),
    ).toBe(false)
  })

  test('an imported key keeps only its 32 bytes, not the buffer that they were read from', () => {
    const pooled = Buffer.from(Buffer.from(publicKey).toString('hex'), 'hex')
    expect(pooled.buffer.byteLength).toBeGreaterThan(32)
    const { bytes } = importPublicKey(pooled)
    expect(bytes.buffer.byteLength).toBe(32)
    expect([...bytes]).toEqual([...publicKey])
  })

  test('S = 0 is well formed, but does not match', () => {
    const signature = Uint8Array.from([...Point.BASE.toBytes(), ...new Uint8Array(32)])
    expect(agreed({ signature, message: new Uint8Array(), publicKey })).toBe(false)
  })

  test('signatures of more senders than the cache of points holds all verify', () => {
    const message = Uint8Array.of(1)
    const signed = Array.from({ length: 300 }, (_, i) => {
      const key = createKeyPair(new Uint8Array(32).fill(i % 256).fill(i >> 8, 0, 1))
      return { signature: signBytes(message, key.secretKey), message, publicKey: key.publicKey }
    })
    expect(new Set(signed.map((item) => String(item.publicKey))).size).toBe(300)
    expect(signed.every((item) => verifySignature(item.signature, item.message, item.publicKey))).toBe(true)
    expect(signed.slice(0, 3).every((item) => verifySignature(item.signature, item.message, item.publicKey))).toBe(true)
  })

  test('a wrong length throws RangeError', () => {
    expect(() => verifySignature(new Uint8Array(63), new Uint8Array(), publicKey)).toThrow(RangeError)
    expect(() => verifySignature(new Uint8Array(64), new Uint8Array(), publicKey.subarray(1))).toThrow(RangeError)
    expect(() => verifyRequestNode(new Uint8Array(65), new Uint8Array(), importPublicKey(publicKey))).toThrow(
      RangeError,
    )
    expect(() => importPublicKey(new Uint8Array(31))).toThrow(RangeError)
  })
})
