import type { Bus } from '@svc/nats/bus.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSettleLater } from './settle-later.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Records the operations of each call, and can make the next calls fail. */
function setUp() {
  const calls: string[][] = []
  let failing = false
  const bus: Bus = {
    inFlight: 0,
    async call<Q, R>(_call: unknown, request: Q): Promise<R> {
      calls.push((request as { operations: string[] }).operations)
      if (failing) throw new Error('budget is away')
      return {} as R
    },
    callText: () => Promise.reject(new Error('nothing calls for text')),
  }
  const settleLater = createSettleLater({ owner: 'messaging', bus, logger: createLogger('test', 'silent') })
  return {
    calls,
    settleLater,
    fail: (isFailing: boolean) => {
      failing = isFailing
    },
  }
}

test('charges that finish within 100 ms are settled in one call', async () => {
  const { calls, settleLater } = setUp()
  settleLater('messaging:1')
  await vi.advanceTimersByTimeAsync(50)
  settleLater('messaging:2')
  await vi.advanceTimersByTimeAsync(50)
  expect(calls).toEqual([['messaging:1', 'messaging:2']])
})

test('a failed call is left to the resolver, and the next call works', async () => {
  const { calls, settleLater, fail } = setUp()
  fail(true)
  settleLater('messaging:1')
  await vi.advanceTimersByTimeAsync(100)
  fail(false)
  settleLater('messaging:2')
  await vi.advanceTimersByTimeAsync(100)
  expect(calls).toEqual([['messaging:1'], ['messaging:2']])
})
