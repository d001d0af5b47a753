import { ServiceError } from '@svc/contracts/errors.ts'
import type { Database, Tx } from '@svc/postgres/database.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { expect, test } from 'vitest'
import { chargedChange } from './charged-change.ts'
import { type Charging, PriceChanged } from './charging.ts'
import type { Operations } from './operations.ts'

/** Records what a change does, in order. */
function setUp({ givenUp = false } = {}) {
  const steps: string[] = []
  const deps = {
    database: { transaction: (work: (tx: Tx) => unknown, lock: string) => Promise.resolve(work(lock as never)) },
    charging: {
      owner: 'boards',
      charge: (cost: { units: number }, _context: unknown, commit: (reservation: object) => unknown) => {
        steps.push(`reserve ${cost.units}`)
        return commit({})
      },
    },
    operations: {
      async commit() {
        steps.push('record')
        if (givenUp) throw new ServiceError('unavailable')
        return 'committed'
      },
    },
  } as unknown as { database: Database; charging: Charging; operations: Operations }
  const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 }
  return {
    steps,
    /** @param prices what the change costs each time it is decided; the last one from then on. */
    change: (...prices: (number | 'nothing')[]) => {
      const next = (): number | 'nothing' => (prices.length > 1 ? prices.shift() : prices[0]) ?? 'nothing'
      const write = async (_tx: Tx, units: number): Promise<string> => {
        steps.push(`write ${units}`)
        if (next() !== units) throw new PriceChanged()
        return 'done'
      }
      return chargedChange(deps, { agentId: 'alice', lock: 'row', price: async () => next(), write }, context)
    },
  }
}

test.each([
  ['nothing to change', ['nothing'], 'nothing', []],
  ['spec 11.2: a free change does not ask budget', [0], 'done', ['write 0']],
  ['a change that costs units', [2], 'done', ['reserve 2', 'record', 'write 2']],
  ['one that became free meanwhile', [1, 0], 'done', ['reserve 1', 'record', 'write 1', 'write 0']],
  ['one that began to cost meanwhile', [0, 1], 'done', ['write 0', 'reserve 1', 'record', 'write 1']],
  ['one that was made meanwhile', [1, 'nothing'], 'nothing', ['reserve 1', 'record', 'write 1']],
] as const)('%s', async (_what, prices, result, expected) => {
  const { change, steps } = setUp()
  expect(await change(...prices)).toBe(result)
  expect(steps).toEqual(expected)
})

test('a price that keeps changing is unavailable', async () => {
  const { change } = setUp()
  await expect(change(...Array.from({ length: 20 }, (_, at) => at % 2))).rejects.toMatchObject({ code: 'unavailable' })
})

test('an attempt that was given up writes nothing', async () => {
  const { change, steps } = setUp({ givenUp: true })
  await expect(change(1)).rejects.toMatchObject({ code: 'unavailable' })
  expect(steps).toEqual(['reserve 1', 'record'])
})
