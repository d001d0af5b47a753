import { describe, expect, test } from 'vitest'
import {
  type Bucket,
  createBucket,
  giveUp,
  keepReport,
  settle,
  takeAsKeeper,
  takeOnCredit,
  takeReport,
} from './shared-bucket.ts'

const RATE = { perSecond: 1, burst: 10 }
const CREDIT = 2

/** Makes this many requests at once and counts how many are admitted, asked about and refused. */
function takeMany(bucket: Bucket, count: number, nowMs = 0): Record<'admitted' | 'asked' | 'refused', number> {
  const result = { admitted: 0, asked: 0, refused: 0 }
  for (let at = 0; at < count; at += 1) {
    const verdict = takeOnCredit(bucket, nowMs, RATE, CREDIT)
    result[verdict === 0 ? 'admitted' : verdict === 'ask' ? 'asked' : 'refused'] += 1
  }
  return result
}

/** Counts how many requests at once the keeper admits. */
function takeAllAsKeeper(bucket: Bucket, nowMs = 0): number {
  for (let admitted = 0; ; admitted += 1) if (takeAsKeeper(bucket, nowMs, RATE) > 0) return admitted
}

describe('a bucket that several gateways share', () => {
  test('another gateway admits its credit, asks the keeper for more, and refuses the rest without asking', () => {
    expect(takeMany(createBucket(0), 15)).toEqual({ admitted: 2, asked: 8, refused: 5 })
  })

  test('the keeper counts the admitted requests, grants as many more as there is room for, and answers the shortage', () => {
    const [own, kept] = [createBucket(0), createBucket(0)]
    for (let at = 0; at < 5; at += 1) takeAsKeeper(kept, 0, RATE)
    takeMany(own, 15)
    expect(keepReport(kept, takeReport(own, 0, RATE), 0, RATE)).toEqual({ granted: 3, level: 10 })
    expect(takeAllAsKeeper(kept)).toBe(0)
    expect(takeAllAsKeeper(kept, 2_000)).toBe(2)
  })

  test('the keeper also counts requests admitted beyond the burst, so that later ones are refused for them', () => {
    const kept = createBucket(0)
    expect(takeAllAsKeeper(kept)).toBe(10)
    expect(keepReport(kept, { taken: 2, asked: 1, level: 0 }, 0, RATE)).toEqual({ granted: 0, level: 12 })
    expect(takeAllAsKeeper(kept, 2_000)).toBe(0)
    expect(takeAllAsKeeper(kept, 3_000)).toBe(1)
  })

  test('credit is restored only when the keeper has answered', () => {
    const own = createBucket(0)
    takeMany(own, 2)
    takeReport(own, 0, RATE)
    expect(takeMany(own, 1)).toMatchObject({ asked: 1 })
    settle(own, { granted: 0, level: 2 }, 0, RATE)
    expect(takeMany(own, 1)).toMatchObject({ admitted: 1 })
  })

  test('after the answer, the gateway knows what the keeper knows of other gateways', () => {
    const own = createBucket(0)
    takeMany(own, 1)
    takeReport(own, 0, RATE)
    settle(own, { granted: 0, level: 10 }, 0, RATE)
    expect(takeMany(own, 1)).toMatchObject({ refused: 1 })
    expect(takeMany(own, 2, 1_000)).toMatchObject({ admitted: 1, refused: 1 })
  })

  test('a request that the keeper did not grant does not count', () => {
    const own = createBucket(0)
    takeMany(own, 10)
    takeReport(own, 0, RATE)
    settle(own, { granted: 1, level: 3 }, 0, RATE)
    expect(takeMany(own, 15)).toEqual({ admitted: 2, asked: 5, refused: 8 })
  })

  test('requests admitted while the answer was under way are added to the answered level', () => {
    const own = createBucket(0)
    takeMany(own, 1)
    takeReport(own, 0, RATE)
    takeMany(own, 4)
    settle(own, { granted: 0, level: 5 }, 0, RATE)
    expect(takeMany(own, 15)).toMatchObject({ refused: 14 })
  })

  test('without an answer, everything is reported again', () => {
    const own = createBucket(0)
    takeMany(own, 5)
    expect(takeReport(own, 0, RATE)).toMatchObject({ taken: 2, asked: 3 })
    giveUp(own)
    expect(takeReport(own, 0, RATE)).toMatchObject({ taken: 5, asked: 0 })
  })

  test('a keeper with a lower level takes over the level that another gateway reports, less the refill of a quarter of a second', () => {
    const [own, kept] = [createBucket(0), createBucket(0)]
    settle(own, { granted: 0, level: 9 }, 0, RATE)
    const report = takeReport(own, 0, RATE)
    expect(report).toEqual({ taken: 0, asked: 0, level: 8.75 })
    expect(keepReport(kept, report, 0, RATE)).toEqual({ granted: 0, level: 8.75 })
  })

  test('a level that is sent back and forth does not rise', () => {
    const [own, kept] = [createBucket(0), createBucket(0)]
    for (let at = 0; at < 8; at += 1) takeAsKeeper(kept, 0, RATE)
    for (let nowMs = 0; nowMs <= 6_000; nowMs += 200) {
      const report = takeReport(own, nowMs, RATE)
      const settlement = keepReport(kept, report, nowMs + 100, RATE)
      settle(own, settlement, nowMs + 200, RATE)
    }
    expect(takeAllAsKeeper(kept, 6_000)).toBe(8)
  })

  test('clocks of different gateways are never compared', () => {
    const [own, kept] = [createBucket(5_000_000), createBucket(-7)]
    takeMany(own, 10, 5_000_000)
    settle(own, keepReport(kept, takeReport(own, 5_000_000, RATE), -7, RATE), 5_000_000, RATE)
    expect(takeMany(own, 3, 5_001_000)).toMatchObject({ admitted: 1, refused: 2 })
  })
})
