import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Pace } from './pace.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.each([
  ['an hour', 3_600, 1, 30],
  ['a day', 86_400, 1, 45],
  ['an hour of large states', 3_600, 4, 40],
])('%s of changes costs little', async (_, seconds, units, most) => {
  let spent = 0
  await using pace = new Pace(async () => {
    spent += units
    return { units, settled: Promise.resolve() }
  })
  for (let second = 0; second < seconds; second += 1) {
    pace.touch()
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(spent).toBeLessThanOrEqual(most)
  expect(spent).toBeGreaterThan(most / 2)
})

test('nothing is posted before the earlier message is sent, and the next change is', async () => {
  const sent = Promise.withResolvers<void>()
  const post = vi.fn(async () => ({ units: 1, settled: sent.promise }))
  await using pace = new Pace(post)
  for (let second = 0; second < 60; second += 1) {
    pace.touch()
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(post).toHaveBeenCalledTimes(1)
  sent.resolve()
  await vi.advanceTimersByTimeAsync(0)
  pace.touch()
  await vi.advanceTimersByTimeAsync(4_000)
  expect(post).toHaveBeenCalledTimes(2)
})
