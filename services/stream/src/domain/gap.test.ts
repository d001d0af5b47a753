import { expect, test } from 'vitest'
import { stepFor } from './gap.ts'

test.each([
  [0, 1, 'write'],
  [41, 42, 'write'],
  [41, 41, 'drop'],
  [41, 1, 'drop'],
  [41, 43, 'read'],
  [0, 2, 'read'],
  [Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER, 'write'],
] as const)('spec 9.7: delivered to %d and received %d: %s', (last, cursor, step) => {
  expect(stepFor(last, cursor)).toBe(step)
})
