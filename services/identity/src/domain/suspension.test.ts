import { ServiceError } from '@svc/contracts/errors.ts'
import type { Suspension } from '@svc/contracts/suspension.ts'
import { expect, test } from 'vitest'
import { changesSuspension } from './suspension.ts'

const NOW = 1_000
const FOREVER = { until: null }
const LATER = { until: 2_000 }

test.each<[string, Suspension | null, Suspension | null, boolean | string]>([
  ['suspending without an end', null, FOREVER, true],
  ['suspending until a time', null, LATER, true],
  ['the same again', LATER, LATER, false],
  ['the same again, without an end', FOREVER, FOREVER, false],
  ['another end', LATER, { until: 2_001 }, true],
  ['no end instead of a time', LATER, FOREVER, true],
  ['a time instead of no end', FOREVER, LATER, true],
  ['an end that is now', null, { until: NOW }, 'invalid_request'],
  ['a past end, for a suspended agent', FOREVER, { until: 1 }, 'invalid_request'],
  ['resuming', FOREVER, null, true],
  ['resuming an agent that is not suspended', null, null, false],
])('spec 12.4: %s', (_, before, next, expected) => {
  expect(outcome(() => changesSuspension({ revoked: false, suspension: before }, next, NOW))).toBe(expected)
})

test('spec 12.4: a revoked agent cannot be suspended, and can be resumed', () => {
  expect(outcome(() => changesSuspension({ revoked: true, suspension: null }, FOREVER, NOW))).toBe('agent_revoked')
  expect(outcome(() => changesSuspension({ revoked: true, suspension: FOREVER }, null, NOW))).toBe(true)
})

function outcome(judge: () => boolean): boolean | string {
  try {
    return judge()
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}
