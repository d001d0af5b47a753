import { createLogger } from '@svc/telemetry/logger.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startLoop } from './loop.ts'

const options = { name: 'test', logger: createLogger('test', 'silent'), intervalMs: 1_000 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('design.md, Failing: background work', () => {
  test('passes follow each other at once while there is more, then after the interval', async () => {
    const more = [true, true, false, false]
    const run = vi.fn(async () => more.shift() ?? false)
    await using _ = startLoop({ ...options, run })
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(3)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(run).toHaveBeenCalledTimes(4)
  })

  test('no error ends it, and the pauses after failures grow to 10 s', async () => {
    const atMs: number[] = []
    const startMs = Date.now()
    const run = async (): Promise<boolean> => {
      atMs.push(Date.now() - startMs)
      throw new Error('away')
    }
    await using loop = startLoop({ ...options, run })
    await vi.advanceTimersByTimeAsync(33_000)
    expect(atMs.map((ms, index) => ms - (atMs[index - 1] ?? 0))).toEqual([
      0, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000,
    ])
    expect(loop.isStalled()).toBe(false)
  })

  test('a pass that hangs for a minute beyond the interval is a standstill', async () => {
    const hanging = Promise.withResolvers<boolean>()
    await using loop = startLoop({ ...options, run: () => hanging.promise })
    await vi.advanceTimersByTimeAsync(61_000)
    expect(loop.isStalled()).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(loop.isStalled()).toBe(true)
    hanging.resolve(false)
    await vi.advanceTimersByTimeAsync(0)
    expect(loop.isStalled()).toBe(false)
  })

  test('woken during a pass, the next one follows at once', async () => {
    const first = Promise.withResolvers<boolean>()
    const run = vi.fn(() => (run.mock.calls.length === 1 ? first.promise : Promise.resolve(false)))
    await using loop = startLoop({ ...options, run })
    loop.wake()
    first.resolve(false)
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(2)
  })

  test('its end waits for the pass under way, whose signal is aborted', async () => {
    let signal: AbortSignal | undefined
    const pass = Promise.withResolvers<boolean>()
    const loop = startLoop({
      ...options,
      run: (given) => {
        signal = given
        return pass.promise
      },
    })
    let ended = false
    const end = loop[Symbol.asyncDispose]().then(() => {
      ended = true
    })
    await vi.advanceTimersByTimeAsync(5_000)
    expect([signal?.aborted, ended]).toEqual([true, false])
    pass.resolve(true)
    await end
  })
})
