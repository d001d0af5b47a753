import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createClock } from './clock.ts'

const LOCAL = Date.parse('2026-11-20T12:00:00.000Z')
const DAY = 24 * 3_600_000

function dateAt(ms: number): string {
  return new Date(ms).toUTCString()
}

function scene() {
  const warnings: string[] = []
  return {
    warnings,
    clock: createClock(
      () => LOCAL,
      (message) => warnings.push(message),
    ),
  }
}

test('spec 3.14, 13.3: the clock follows Date within its resolution, for any offset up to a day, time and round trip', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -DAY + 5_000, max: DAY - 5_000 }),
      fc.integer({ min: 0, max: 3_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (offsetMs, roundTripMs, part) => {
        const { clock } = scene()
        const answeredMs = LOCAL + Math.round(roundTripMs * part)
        clock.correct(dateAt(answeredMs + offsetMs), LOCAL, LOCAL + roundTripMs)
        const errorMs = Math.abs(clock.nowMs() - (LOCAL + offsetMs))
        expect(errorMs).toBeLessThanOrEqual(2_500 + roundTripMs)
      },
    ),
  )
})

test.each([
  [600_000, "this machine's clock is 600 s behind the service's: requests are now signed with the service's time"],
  [
    -7_200_000,
    "this machine's clock is 7200 s ahead of the service's: requests are now signed with the service's time",
  ],
])('spec 13.3: a correction by %i ms is a warning', (offsetMs, warning) => {
  const { clock, warnings } = scene()
  for (let i = 0; i < 3; i += 1) clock.correct(dateAt(LOCAL + offsetMs), LOCAL, LOCAL + 1_000)
  expect(warnings).toEqual([warning])
})

test.each([30 * DAY, DAY + 5_000, -DAY - 5_000, Date.parse('9999-12-31') - LOCAL, -LOCAL])(
  'spec 13.3: a correction by %i ms is too large: it moves nothing and is a warning, whatever was corrected before',
  (offsetMs) => {
    const { clock, warnings } = scene()
    clock.correct(dateAt(LOCAL + Math.sign(offsetMs) * (DAY - 60_000)), LOCAL, LOCAL)
    const before = clock.nowMs()
    clock.correct(dateAt(LOCAL + offsetMs), LOCAL, LOCAL)
    expect(clock.nowMs()).toBe(before)
    expect(clock.revision).toBe(1)
    expect(warnings).toEqual([expect.any(String), expect.stringMatching(/more than a day.*: set the clock$/)])
  },
)

test('a Date that agrees with the clock does not move it', () => {
  const { clock, warnings } = scene()
  for (const ms of [-500, 0, 500, 900]) clock.correct(dateAt(LOCAL + ms), LOCAL, LOCAL + 200)
  expect(clock.revision).toBe(0)
  expect(clock.nowMs()).toBe(LOCAL)
  expect(warnings).toEqual([])
})

test('when the clock of the machine is corrected, the correction ends', () => {
  const { clock } = scene()
  clock.correct(dateAt(LOCAL + 600_000), LOCAL, LOCAL + 10)
  expect(clock.revision).toBe(1)
  clock.correct(dateAt(LOCAL), LOCAL, LOCAL + 10)
  expect(clock.revision).toBe(2)
  expect(clock.nowMs()).toBe(LOCAL)
})

test.each([
  ['no Date', null, 10],
  ['no date', 'yesterday', 10],
  ['an answer that took too long', dateAt(LOCAL + 600_000), 60_000],
  ['a clock that was set back during the request', dateAt(LOCAL + 600_000), -5_000],
])('%s moves nothing', (_, date, roundTripMs) => {
  const { clock } = scene()
  clock.correct(date, LOCAL, LOCAL + roundTripMs)
  expect(clock.revision).toBe(0)
})
