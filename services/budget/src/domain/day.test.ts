import { expect, test } from 'vitest'
import { nextMidnightMs, secondsToMidnight } from './day.ts'

test.each([
  ['2026-11-20T00:00:00.000Z', 86_400],
  ['2026-11-20T00:00:00.001Z', 86_400],
  ['2026-11-20T23:59:58.000Z', 2],
  ['2026-11-20T23:59:58.001Z', 2],
  ['2026-11-20T23:59:59.000Z', 1],
  ['2026-11-20T23:59:59.999Z', 1],
  ['2024-02-28T12:00:00.000Z', 43_200],
])('spec 4.2: at %s Retry-After is %i', (at, seconds) => {
  expect(secondsToMidnight(Date.parse(at))).toBe(seconds)
})

test('spec 11.1, 11.6: a UTC day ends at 00:00 of the next', () => {
  expect(new Date(nextMidnightMs(Date.parse('2024-02-28T23:59:59.999Z'))).toISOString()).toBe(
    '2024-02-29T00:00:00.000Z',
  )
  expect(new Date(nextMidnightMs(Date.parse('2026-12-31T00:00:00.000Z'))).toISOString()).toBe(
    '2027-01-01T00:00:00.000Z',
  )
})
