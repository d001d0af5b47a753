import type { Database } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LEASE_SECONDS } from '../store/leases.ts'
import { createStreams } from '../streams/streams.ts'
import { startRenewLeases } from './renew-leases.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Starts the loop of a process whose database answers with `run`. */
function startOn(run: () => Promise<unknown>) {
  const streams = createStreams({ capacity: 1, onLeft: () => {} })
  const closeAll = vi.spyOn(streams, 'closeAll')
  const keepLeases = vi.spyOn(streams, 'keepLeases')
  const database: Database = {
    get sql(): never {
      throw new Error('leases go by `run`')
    },
    run: <T>() => run() as Promise<T>,
    transaction: () => Promise.reject(new Error('leases need none')),
    [Symbol.asyncDispose]: async () => {},
  }
  const loop = startRenewLeases({ database, logger: createLogger('test', 'silent'), streams, processId: 'one' })
  return { loop, closeAll, keepLeases }
}

describe('spec 9.8: a lease that could not be renewed in its time may be another stream’s', () => {
  test('all streams are closed when it has run out, and not before', async () => {
    const { loop, closeAll } = startOn(() => Promise.reject(new Error('no database')))
    await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000 - 1)
    expect(closeAll).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(closeAll).toHaveBeenCalledOnce()
    vi.useRealTimers()
    await loop[Symbol.asyncDispose]()
  })

  test('and again when the next would have run out', async () => {
    const { loop, closeAll } = startOn(() => Promise.reject(new Error('no database')))
    await vi.advanceTimersByTimeAsync(2 * LEASE_SECONDS * 1_000)
    expect(closeAll).toHaveBeenCalledTimes(2)
    vi.useRealTimers()
    await loop[Symbol.asyncDispose]()
  })

  test('while they are renewed none is closed but those that were lost', async () => {
    const { loop, closeAll, keepLeases } = startOn(async () => [])
    await vi.advanceTimersByTimeAsync(10 * LEASE_SECONDS * 1_000)
    expect(closeAll).not.toHaveBeenCalled()
    expect(keepLeases).toHaveBeenCalledWith([], [])
    vi.useRealTimers()
    await loop[Symbol.asyncDispose]()
  })
})
