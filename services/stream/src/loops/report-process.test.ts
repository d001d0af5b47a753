import type { Database } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { SILENCE_SECONDS } from '../store/processes.ts'
import { createStreams } from '../streams/streams.ts'
import { startReportProcess } from './report-process.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Starts the loop of a process whose database answers every statement with the rows of `run`, by its text and values. */
function startOn(run: (text: string, values: unknown[]) => Promise<unknown[]>) {
  const streams = createStreams({ capacity: 1, onLeft: () => {} })
  const closeAll = vi.spyOn(streams, 'closeAll')
  const database: Database = {
    get sql(): never {
      throw new Error('reports go by `run`')
    },
    run: async <T>(work: (sql: never) => Promise<T>): Promise<T> =>
      work(((text: string[], ...values: unknown[]) => run(text.join('?'), values)) as never),
    transaction: () => Promise.reject(new Error('reports need none')),
    [Symbol.asyncDispose]: async () => {},
  }
  const loop = startReportProcess({ database, logger: createLogger('test', 'silent'), streams, processId: 'one' })
  return { loop, streams, closeAll }
}

describe('spec 9.8: a process that could not report in time may have lost its leases', () => {
  test('all streams are closed when the time is over, but not earlier', async () => {
    const { loop, closeAll } = startOn(() => Promise.reject(new Error('no database')))
    await vi.advanceTimersByTimeAsync(SILENCE_SECONDS * 1_000 - 1)
    expect(closeAll).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(closeAll).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(SILENCE_SECONDS * 1_000)
    expect(closeAll).toHaveBeenCalledTimes(2)
    vi.useRealTimers()
    await loop[Symbol.asyncDispose]()
  })

  test('no stream is closed while the process reports', async () => {
    const { loop, closeAll } = startOn(async () => [{ is_new: false }])
    await vi.advanceTimersByTimeAsync(10 * SILENCE_SECONDS * 1_000)
    expect(closeAll).not.toHaveBeenCalled()
    vi.useRealTimers()
    await loop[Symbol.asyncDispose]()
  })

  test('all streams are closed if the row of the process was removed, although the process reports in time', async () => {
    const { loop, closeAll } = startOn(async () => [{ is_new: true }])
    await vi.advanceTimersByTimeAsync(1)
    expect(closeAll).toHaveBeenCalledOnce()
    vi.useRealTimers()
    await loop[Symbol.asyncDispose]()
  })
})

test('a lease without a seat is released within 12 s, and one with a seat is kept', async () => {
  const released: unknown[] = []
  const leases = ['orphan']
  const { loop, streams } = startOn(async (text, values) => {
    if (/select l\.id/.test(text)) return leases.map((id) => ({ id }))
    if (/delete from stream\.leases l where l\.id = any/.test(text)) released.push(...values)
    return [{ is_new: false }]
  })
  leases.push(streams.reserve({ agent_id: 'agent', after: 0 }, '').leaseId)
  await vi.advanceTimersByTimeAsync(12_000)
  expect(released).toEqual([['orphan']])
  vi.useRealTimers()
  await loop[Symbol.asyncDispose]()
})
