import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { secondsToNext } from './schedule.ts'

const BACKOFF = [0, 30, 120, 600, 3_600]
const JUST_BELOW_ONE = 1 - Number.EPSILON / 2

describe('spec 10.7: attempts after 0 s, 30 s, 2 min, 10 min and 1 h, each ±20 %', () => {
  test.each([
    [0, 0, 0],
    [1, 24, 36],
    [2, 96, 144],
    [3, 480, 720],
    [4, 2_880, 4_320],
  ])('after %i attempts: from %i to %i seconds', (ended, least, most) => {
    expect(secondsToNext(BACKOFF, ended, 0)).toBeCloseTo(least)
    expect(secondsToNext(BACKOFF, ended, JUST_BELOW_ONE)).toBeCloseTo(most)
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const seconds = secondsToNext(BACKOFF, ended, random) ?? Number.NaN
        expect(seconds).toBeGreaterThanOrEqual(least)
        expect(seconds).toBeLessThanOrEqual(most)
      }),
    )
  })

  test.each([5, 6, 100])('spec 10.7, 11.7: after %i attempts none is left', (ended) => {
    expect(secondsToNext(BACKOFF, ended, 0.5)).toBeUndefined()
  })
})
