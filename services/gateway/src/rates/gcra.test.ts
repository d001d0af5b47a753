import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judgeRequest, type Rate } from './gcra.ts'

const rates = fc.record({
  perSecond: fc.double({ min: 0.01, max: 1000, noNaN: true }),
  burst: fc.integer({ min: 1, max: 50 }),
})
/** Pauses between requests, many of them 0. */
const pauses = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3000, noNaN: true })), { maxLength: 200 })

interface Judged {
  atMs: number
  waitMs: number
}

function judgeAll(rate: Rate, pausesMs: readonly number[]): Judged[] {
  let nowMs = 1_000_000
  let fullAtMs: number | undefined
  return pausesMs.map((pauseMs) => {
    nowMs += pauseMs
    const verdict = judgeRequest(fullAtMs, nowMs, rate)
    fullAtMs = verdict.fullAtMs
    return { atMs: nowMs, waitMs: verdict.waitMs }
  })
}

describe('spec 3.15: a rate and a burst', () => {
  test('the burst is admitted at once, and the next request waits for one interval', () => {
    const judged = judgeAll({ perSecond: 100, burst: 200 }, new Array(201).fill(0))
    expect(judged.slice(0, 200).every(({ waitMs }) => waitMs === 0)).toBe(true)
    expect(judged[200]?.waitMs).toBeCloseTo(10)
  })

  test('refused requests use no allowance: after the wait one is admitted, even if many were refused meanwhile', () => {
    const judged = judgeAll({ perSecond: 1, burst: 2 }, [0, 0, 0, 0, 500, 500, 0])
    expect(judged.map(({ waitMs }) => waitMs)).toEqual([0, 0, 1000, 1000, 500, 0, 1000])
  })

  test('property: in any time span at most the burst, plus the rate times the span, is admitted', () => {
    fc.assert(
      fc.property(rates, pauses, (rate, pausesMs) => {
        const admitted = judgeAll(rate, pausesMs).filter(({ waitMs }) => waitMs === 0)
        admitted.forEach(({ atMs: from }, first) => {
          admitted.slice(first).forEach(({ atMs: to }, more) => {
            expect(more + 1).toBeLessThanOrEqual(rate.burst + ((to - from) / 1000) * rate.perSecond + 0.01)
          })
        })
      }),
    )
  })

  test('property: a refused request would be admitted after its wait, but not a millisecond earlier', () => {
    fc.assert(
      fc.property(rates, pauses, (rate, pausesMs) => {
        let nowMs = 1_000_000
        let fullAtMs: number | undefined
        for (const pauseMs of pausesMs) {
          nowMs += pauseMs
          const verdict = judgeRequest(fullAtMs, nowMs, rate)
          fullAtMs = verdict.fullAtMs
          if (verdict.waitMs === 0) continue
          expect(judgeRequest(fullAtMs, nowMs + verdict.waitMs, rate).waitMs).toBe(0)
          if (verdict.waitMs > 1)
            expect(judgeRequest(fullAtMs, nowMs + verdict.waitMs - 1, rate).waitMs).toBeGreaterThan(0)
        }
      }),
    )
  })
})
