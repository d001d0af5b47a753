import { describe, expect, test } from 'vitest'
import { retryAfterOf } from './retry-after.ts'

const NOW = Date.parse('2026-11-20T12:00:00.000Z')

describe('spec 13.2: Retry-After in seconds or as a date', () => {
  test.each([
    ['20', 20],
    [' 20 ', 20],
    ['0', 0],
    ['1.2', 2],
    ['86400', 86_400],
    ['1, 20', 20],
    ['1,', undefined],
    ['1, soon', undefined],
    ['9'.repeat(400), 1_000_000_000],
    ['Fri, 20 Nov 2026 12:00:20 GMT', 20],
    ['Friday, 20-Nov-26 12:00:20 GMT', 20],
    ['Fri Nov 20 12:00:20 2026', 20],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 1_000_000_000],
    ['', undefined],
    ['-5', undefined],
    ['+5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['soon', undefined],
    ['2026-11-20T12:00:20Z', undefined],
    ['Fri, 32 Nov 2026 12:00:20 GMT', undefined],
  ])('%j is %j', (value, seconds) => {
    expect(retryAfterOf(new Headers({ 'retry-after': value }), NOW)).toBe(seconds)
  })

  test('a date is compared with the Date of its answer, because the clock of this machine may be wrong', () => {
    const headers = new Headers({
      'retry-after': 'Thu, 01 Jan 2026 12:00:20 GMT',
      date: 'Thu, 01 Jan 2026 12:00:00 GMT',
    })
    expect(retryAfterOf(headers, NOW)).toBe(20)
  })

  test('absent', () => {
    expect(retryAfterOf(new Headers(), NOW)).toBeUndefined()
  })
})
