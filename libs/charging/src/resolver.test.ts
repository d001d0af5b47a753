import type { Call } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { expect, test, vi } from 'vitest'
import type { Reservation } from './fences.ts'
import { startResolver } from './resolver.ts'

test('an operation that cannot be resolved is retried with growing pauses, and does not delay others', async () => {
  vi.useFakeTimers()
  const overdue = new Set(['messaging:stalled'])
  const asked: string[] = []
  const bus: Bus = {
    inFlight: 0,
    async call<Q, R>({ subject }: Call<Q, R>, request: Q): Promise<R> {
      if (subject.endsWith('release')) {
        const { operation } = request as { operation: string }
        asked.push(operation)
        if (operation === 'messaging:stalled') throw new ServiceError('unavailable')
        overdue.delete(operation)
      }
      return { reservations: [...overdue].map((operation) => ({ operation, deadline_ms: Date.now() - 1 })) } as R
    },
    callText: () => Promise.reject(new Error('nothing calls for text')),
  }
  const fences = { fence: async (items: readonly Reservation[]) => items.map(() => false) }
  const logger = createLogger('test', 'silent')
  const resolver = startResolver({ owner: 'messaging', bus, logger, fences, intervalMs: 2_000 })
  const timesAsked = async (seconds: number): Promise<number> => {
    asked.length = 0
    for (let second = 0; second < seconds; second += 1) {
      overdue.add(`messaging:${second}`)
      await vi.advanceTimersByTimeAsync(1_000)
    }
    return asked.filter((operation) => operation === 'messaging:stalled').length
  }
  const atFirst = await timesAsked(60)
  const later = await timesAsked(60)
  expect(overdue.size).toBeLessThanOrEqual(4)
  expect(later).toBeLessThan(atFirst)
  expect(later).toBeGreaterThan(0)
  const ended = resolver[Symbol.asyncDispose]()
  await vi.advanceTimersByTimeAsync(2_000)
  await ended
  vi.useRealTimers()
})
