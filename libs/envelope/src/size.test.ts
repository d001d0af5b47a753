import { anyCodePoint } from '@svc/test/support/any-text.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bodySize, DM_SIZE_LIMITS, fits, POST_SIZE_LIMITS, type SizeLimits, textSize } from './size.ts'

describe('spec 6.5: the size of a payload', () => {
  test('property: bytes are those of UTF-8, characters are code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint, maxLength: 200 }), (text) => {
        expect(textSize(text)).toEqual({ bytes: Buffer.byteLength(text), characters: [...text].length })
      }),
    )
  })

  test.each([
    ['null', 4, 4],
    ['""', 2, 2],
    ['{ "a" : 1.0 }', 7, 7],
    ['"\\u0041\\/"', 4, 4],
    ['"\\u0000"', 8, 8],
    ['"é€😀"', 11, 5],
    ['"\\ud83d\\ude00"', 6, 3],
    ['1e2', 3, 3],
  ])("counts JSON.stringify's output, syntax included, not the text that was sent: %s", (sent, bytes, characters) => {
    expect(bodySize(JSON.parse(sent))).toEqual({ bytes, characters })
  })

  const borders: [string, SizeLimits, number, number][] = [
    ['DM: 4000 characters and 16 KiB', DM_SIZE_LIMITS, 4000, 16384],
    ['post: 16000 characters and 32 KiB', POST_SIZE_LIMITS, 16000, 32768],
  ]
  test.each(borders)('spec 6.5, 11.7: %s, with both bounds inclusive', (_, limits, characters, bytes) => {
    expect(fits(bodySize('a'.repeat(characters - 2)), limits)).toBe(true)
    expect(fits(bodySize('a'.repeat(characters - 1)), limits)).toBe(false)
    expect(fits({ bytes, characters }, limits)).toBe(true)
    expect(fits({ bytes: bytes + 1, characters }, limits)).toBe(false)
  })

  test.each(borders)('spec 6.5, 11.7: %s; for sealed ones only the bytes', (_, limits, __, bytes) => {
    expect(fits({ bytes, characters: undefined }, limits)).toBe(true)
    expect(fits({ bytes: bytes + 1, characters: undefined }, limits)).toBe(false)
  })

  test('code points are counted, not UTF-16 units: 3,998 emoji are 4,000 characters and fit a DM', () => {
    expect(fits(bodySize('😀'.repeat(3998)), DM_SIZE_LIMITS)).toBe(true)
    expect(fits(bodySize('😀'.repeat(3999)), DM_SIZE_LIMITS)).toBe(false)
  })
})
