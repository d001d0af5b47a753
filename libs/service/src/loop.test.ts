import { createLogger } from '@svc/telemetry/logger.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startLoop } from './loop.ts'

const options = { name: 'test', logger: createLogger('test', 'silent'), intervalMs: 1_000 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('background work', () => {
  test('passes follow each other at once while there is work, then after the interval', async () => {
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

  test('a pass that hangs is abandoned after 30 s, its signal is aborted, and the next pass begins', async () => {
    const signals: AbortSignal[] = []
    const hanging = Promise.withResolvers<boolean>()
    const run = async (signal: AbortSignal): Promise<boolean> => {
      signals.push(signal)
      return signals.length === 1 ? hanging.promise : false
    }
    await using loop = startLoop({ ...options, run })
    await vi.advanceTimersByTimeAsync(29_999)
    expect(signals).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    // The abandoned pass may still end, in any way and at any time. The loop continues anyway.
    hanging.reject(new Error('late'))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(signals).toHaveLength(12)
    expect(loop.isStalled()).toBe(false)
  })

  test('a loop is stalled if no pass ends for a minute beyond the interval, and has failed if three hang', async () => {
    const hanging: PromiseWithResolvers<boolean>[] = []
    const run = (): Promise<boolean> => {
      const one = Promise.withResolvers<boolean>()
      hanging.push(one)
      return one.promise
    }
    const loop = startLoop({ ...options, run })
    let failure: Error | undefined
    void loop.failed.then((error) => {
      failure = error
    })
    await vi.advanceTimersByTimeAsync(61_000)
    expect(loop.isStalled()).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(loop.isStalled()).toBe(true)
    expect([hanging.length, failure]).toEqual([3, undefined])
    await vi.advanceTimersByTimeAsync(30_000)
    expect([hanging.length, failure?.message]).toEqual([3, 'the loop test has failed: too many of its passes hang'])
    // Disposing does not wait for the passes that hang.
    await loop[Symbol.asyncDispose]()
  })

  test('an abandoned pass that ends after all no longer counts as hanging', async () => {
    const run = (signal: AbortSignal): Promise<boolean> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(false)))
    const loop = startLoop({ ...options, run })
    const failed = vi.fn()
    void loop.failed.then(failed)
    await vi.advanceTimersByTimeAsync(300_000)
    expect(failed).not.toHaveBeenCalled()
    await loop[Symbol.asyncDispose]()
  })

  test('if it is woken during a pass, the next pass follows at once', async () => {
    const first = Promise.withResolvers<boolean>()
    const run = vi.fn(() => (run.mock.calls.length === 1 ? first.promise : Promise.resolve(false)))
    await using loop = startLoop({ ...options, run })
    loop.wake()
    first.resolve(false)
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(2)
  })

  test('disposing waits for the current pass, whose signal is aborted', async () => {
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

  test('work that passes have started ends after the last pass', async () => {
    const steps: string[] = []
    const pass = Promise.withResolvers<boolean>()
    const loop = startLoop({
      ...options,
      run: () => pass.promise.finally(() => steps.push('pass')),
      ended: async () => void steps.push('ended'),
    })
    const end = loop[Symbol.asyncDispose]()
    pass.resolve(true)
    await end
    expect(steps).toEqual(['pass', 'ended'])
  })
})
