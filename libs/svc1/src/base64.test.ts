import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { base64ByteLength, decodeBase64, encodeBase64 } from './base64.ts'

// docs/vectors/texts.json has examples.
describe('spec 2.4: base64 is RFC 4648 section 4, padded, canonical', () => {
  test("property: encoding equals Buffer's, and decoding reverses it", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const text = encodeBase64(bytes)
        expect(text).toBe(Buffer.from(bytes).toString('base64'))
        expect(decodeBase64(text)).toEqual(bytes)
      }),
    )
  })

  // Texts close to base64, so that wrong padding, trailing bits and stray characters are frequent.
  const nearly = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'AQgwBZz09+/=-_ \n\u00e9\u0100'), maxLength: 12 }),
    fc
      .tuple(fc.uint8Array({ maxLength: 9 }), fc.nat(12), fc.constantFrom('', '=', 'A', '/', '\n', '\u{1f600}', '-'))
      .map(([bytes, at, stray]) => {
        const text = Buffer.from(bytes).toString('base64')
        return text.slice(0, at) + stray + text.slice(at + stray.length)
      }),
  )
  test('property: only the outputs of encoding can be decoded', () => {
    fc.assert(
      fc.property(nearly, (text) => {
        const lax = Buffer.from(text, 'base64') // Buffer ignores unknown characters, so only a round trip proves anything
        const expected = lax.toString('base64') === text ? Uint8Array.from(lax) : undefined
        expect(decodeBase64(text)).toEqual(expected)
        expect(base64ByteLength(text)).toBe(expected?.length)
      }),
      { numRuns: 2000 },
    )
  })
})
