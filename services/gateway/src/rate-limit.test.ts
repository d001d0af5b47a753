import { expect, test } from 'vitest'
import { createRateLimiter } from './rate-limit.ts'

test('decisions 47: each client has its own allowance, and a refusal says whole seconds, at least one', () => {
  let nowMs = 0
  const limiter = createRateLimiter({ perSecond: 0.4, burst: 2 }, () => nowMs)
  expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([0, 0, 3])
  expect(limiter.take('b')).toBe(0)
  nowMs = 2_490
  expect(limiter.take('a')).toBe(1)
  nowMs = 2_500
  expect(limiter.take('a')).toBe(0)
})
