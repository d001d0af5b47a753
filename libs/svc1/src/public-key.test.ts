import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeScalar, TORSION } from '../test/ed25519-points.ts'
import { engines } from '../test/engines.ts'
import { hex, rfc8032, smallOrder } from '../test/vectors.ts'
import { ORDER, Point } from './ed25519.ts'
import { formatPublicKey, parsePublicKey } from './public-key.ts'

const KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'

// docs/vectors/texts.json has the forms of the text.
test('spec 2.2: formatting throws for a length other than 32', () => {
  expect(() => formatPublicKey(new Uint8Array(31))).toThrow(RangeError)
})

describe.each(engines)(
  'spec 2.2: a public key is a canonical encoding of a point of prime order, by $name',
  ({ isPublicKey }) => {
    test.each(rfc8032)('$name: the key is accepted', ({ publicKey }) => {
      expect(isPublicKey(publicKey)).toBe(true)
    })

    test('every multiple of the base point except the identity is accepted', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 1n, max: ORDER - 1n }), (scalar) => {
          expect(isPublicKey(Point.BASE.multiply(scalar).toBytes())).toBe(true)
        }),
        { numRuns: 20 },
      )
    })

    test('a point of mixed order is refused, with any torsion', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 1n, max: ORDER - 1n }), fc.bigInt({ min: 1n, max: 7n }), (scalar, torsion) => {
          const point = Point.BASE.multiply(scalar).add(TORSION.multiply(torsion))
          expect(isPublicKey(point.toBytes())).toBe(false)
        }),
        { numRuns: 20 },
      )
    })

    test('zip215: there are 14 encodings of points of small order', () => {
      expect(smallOrder).toHaveLength(14)
    })
    test.each(smallOrder)('a key of small order is refused: %s', (key) => {
      expect(isPublicKey(hex(key))).toBe(false)
      expect(parsePublicKey(`ed25519:${key}`, isPublicKey)).toBeUndefined()
    })

    test('an unreduced y is refused, with either sign of x', () => {
      const p = 2n ** 255n - 19n
      for (let y = p; y < 2n ** 255n; y++) {
        for (const sign of [0n, 2n ** 255n]) expect(isPublicKey(encodeScalar(y + sign)), `y = p + ${y - p}`).toBe(false)
      }
    })

    test('bytes that are not a point, and other lengths, are refused', () => {
      expect(isPublicKey(encodeScalar(2n))).toBe(false)
      expect(isPublicKey(hex(KEY).subarray(1))).toBe(false)
      expect(isPublicKey(Uint8Array.from([...hex(KEY), 0]))).toBe(false)
    })
  },
)
