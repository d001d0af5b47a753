import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDateTime } from './date-time.ts'

describe('spec 2.1, 6.7: ts is an RFC 3339 date-time', () => {
  // docs/vectors/texts.json has more texts, good and bad, with their whole seconds.
  test.each([
    ['2026-11-20T12:28:31.5Z', 1795177711500],
    ['2026-11-20T12:28:31.007999999Z', 1795177711007],
    ['1998-12-31T23:59:60.5Z', 915148800500],
  ])('%s is %d', (text, epochMs) => {
    expect(parseDateTime(text)).toBe(epochMs)
  })

  test('property: every moment of the years 0 to 9999 is parsed back, whatever the offset and the case', () => {
    const offsets = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 })
    const moments = fc.integer({ min: Date.UTC(1, 0, 3) - 1900 * 366 * 86_400_000, max: Date.UTC(9999, 11, 30) })
    fc.assert(
      fc.property(moments, offsets, fc.boolean(), (epochMs, offset, lower) => {
        const local = new Date(epochMs + offset * 60_000).toISOString()
        if (!/^[0-9]{4}-/.test(local)) return // ISO years outside 0 to 9999 have a sign
        const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
        const zone = `${offset < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
        const text = local.replace('Z', zone)
        expect(parseDateTime(lower ? text.toLowerCase() : text)).toBe(epochMs)
      }),
      { numRuns: 1000 },
    )
  })
})
