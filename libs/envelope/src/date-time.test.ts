import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDateTime } from './date-time.ts'

describe('spec 2.1, 6.7: ts is an RFC 3339 date-time', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2026-11-20T12:28:31Z', 1795177711000],
    ['2026-11-20t12:28:31z', 1795177711000],
    ['2026-11-20T12:28:31.5Z', 1795177711500],
    ['2026-11-20T12:28:31.007Z', 1795177711007],
    ['2026-11-20T12:28:31.007999999Z', 1795177711007],
    ['2026-11-20T13:28:31+01:00', 1795177711000],
    ['2026-11-20T06:58:31-05:30', 1795177711000],
    ['2026-11-20T12:28:31+00:00', 1795177711000],
    ['2026-11-20T12:28:31-00:00', 1795177711000],
    ['2026-11-21T12:27:31+23:59', 1795177711000],
    ['2024-02-29T00:00:00Z', 1709164800000],
    ['2000-02-29T23:59:59Z', 951868799000],
    ['0000-01-01T00:00:00Z', -62167219200000],
    ['0099-12-31T00:00:00Z', -59011545600000],
    ['9999-12-31T23:59:59.999Z', 253402300799999],
    ['1969-12-31T23:59:59.999Z', -1],
    ['1998-12-31T23:59:60Z', 915148800000],
    ['1998-12-31T23:59:60.5Z', 915148800500],
    ['1998-12-31T15:59:60-08:00', 915148800000],
    ['2017-01-01T00:29:60+00:30', 1483228800000],
    ['2012-06-30T23:59:60Z', 1341100800000],
  ])('%s is %d', (text, epochMs) => {
    expect(parseDateTime(text)).toBe(epochMs)
  })

  test.each([
    ['nothing', ''],
    ['no offset', '2026-11-20T12:28:31'],
    ['a space for T', '2026-11-20 12:28:31Z'],
    ['a date alone', '2026-11-20'],
    ['no seconds', '2026-11-20T12:28Z'],
    ['a point without digits', '2026-11-20T12:28:31.Z'],
    ['10 digits of fraction (spec 6.7)', '2026-11-20T12:28:31.0000000000Z'],
    ['a comma for the point', '2026-11-20T12:28:31,5Z'],
    ['a line feed after', '2026-11-20T12:28:31Z\n'],
    ['a space before', ' 2026-11-20T12:28:31Z'],
    ['two digits of year', '26-11-20T12:28:31Z'],
    ['five digits of year', '12026-11-20T12:28:31Z'],
    ['a signed year', '+2026-11-20T12:28:31Z'],
    ['one digit of month', '2026-1-20T12:28:31Z'],
    ['month 0', '2026-00-20T12:28:31Z'],
    ['month 13', '2026-13-20T12:28:31Z'],
    ['day 0', '2026-11-00T12:28:31Z'],
    ['day 32', '2026-12-32T12:28:31Z'],
    ['31 November', '2026-11-31T12:28:31Z'],
    ['29 February of a year that has none', '2026-02-29T12:28:31Z'],
    ['29 February of a century that has none', '1900-02-29T12:28:31Z'],
    ['30 February', '2024-02-30T12:28:31Z'],
    ['hour 24', '2026-11-20T24:00:00Z'],
    ['minute 60', '2026-11-20T12:60:31Z'],
    ['second 61', '2026-12-31T23:59:61Z'],
    ['second 60 in the middle of a day', '2026-11-20T12:28:60Z'],
    ['second 60 in the middle of a month', '2026-11-20T23:59:60Z'],
    ['second 60 at midnight of another offset', '1998-12-31T23:59:60-08:00'],
    ['offset hour 24', '2026-11-20T12:28:31+24:00'],
    ['offset minute 60', '2026-11-20T12:28:31+00:60'],
    ['an offset without colon', '2026-11-20T12:28:31+0100'],
    ['an offset of hours', '2026-11-20T12:28:31+01'],
    ['both Z and an offset', '2026-11-20T12:28:31Z+01:00'],
    ['digits that are not ASCII', '2026-11-2०T12:28:31Z'],
    ['a week date', '2026-W47-5T12:28:31Z'],
    ['Unix seconds', '1795177711'],
  ])('malformed: %s', (_, text) => {
    expect(parseDateTime(text)).toBeUndefined()
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
