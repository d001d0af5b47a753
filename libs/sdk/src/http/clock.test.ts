import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createClock } from './clock.ts'

const LOCAL = Date.parse('2026-11-20T12:00:00.000Z')

function dateAt(ms: number): string {
  return new Date(ms).toUTCString()
}

test('spec 3.14, 13.3: the clock follows Date within its resolution, for any offset, time and round trip', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -400_000_000, max: 400_000_000 }),
      fc.integer({ min: 0, max: 3_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (offsetMs, roundTripMs, part) => {
        const clock = createClock(() => LOCAL)
        const answeredMs = LOCAL + Math.round(roundTripMs * part)
        clock.observe(dateAt(answeredMs + offsetMs), LOCAL, LOCAL + roundTripMs)
        const errorMs = Math.abs(clock.nowMs() - (LOCAL + offsetMs))
        expect(errorMs).toBeLessThanOrEqual(2_500 + roundTripMs)
      },
    ),
  )
})

test('a Date that agrees with the clock does not move it', () => {
  const clock = createClock(() => LOCAL)
  for (const ms of [-500, 0, 500, 900]) clock.observe(dateAt(LOCAL + ms), LOCAL, LOCAL + 200)
  expect(clock.revision).toBe(0)
  expect(clock.nowMs()).toBe(LOCAL)
})

test('when the clock of the machine is corrected, the correction ends', () => {
  const clock = createClock(() => LOCAL)
  clock.observe(dateAt(LOCAL + 600_000), LOCAL, LOCAL + 10)
  expect(clock.revision).toBe(1)
  clock.observe(dateAt(LOCAL), LOCAL, LOCAL + 10)
  expect(clock.revision).toBe(2)
  expect(clock.nowMs()).toBe(LOCAL)
})

test.each([
  ['no Date', null, 10],
  ['no date', 'yesterday', 10],
  ['an answer that took too long', dateAt(LOCAL + 600_000), 60_000],
  ['a clock that was set back during the request', dateAt(LOCAL + 600_000), -5_000],
])('%s moves nothing', (_, date, roundTripMs) => {
  const clock = createClock(() => LOCAL)
  clock.observe(date, LOCAL, LOCAL + roundTripMs)
  expect(clock.revision).toBe(0)
})
