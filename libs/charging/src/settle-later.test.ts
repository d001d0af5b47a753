import type { Bus } from '@svc/nats/bus.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { expect, test } from 'vitest'
import { createSettleLater } from './settle-later.ts'

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

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('charges that finish while a call is under way share the next call', async () => {
  const { calls, settleLater } = setUp()
  settleLater('messaging:1')
  await Promise.resolve()
  settleLater('messaging:2')
  settleLater('messaging:3')
  await turn()
  expect(calls).toEqual([['messaging:1'], ['messaging:2', 'messaging:3']])
})

test('a failed call is left to the resolver, and the next call works', async () => {
  const { calls, settleLater, fail } = setUp()
  fail(true)
  settleLater('messaging:1')
  await turn()
  fail(false)
  settleLater('messaging:2')
  await turn()
  expect(calls).toEqual([['messaging:1'], ['messaging:2']])
})
