import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { BUSY, createLockingBatcher, type LockWait, MAX_WAITERS } from './locking-batcher.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

class LockTimeout extends Error {}

/** Items are the names of locks. `held` lists the locks that other transactions hold. Each run is recorded with its `LockWait`. */
function setUp() {
  const held = new Set<string>()
  const runs: { items: string[]; wait: LockWait }[] = []
  let waiting = 0
  let mostWaiting = 0
  const call = createLockingBatcher<string, string>({
    lockOf: (item) => item,
    isLockTimeout: (error) => error instanceof LockTimeout,
    unavailable: (reason) => new Error(reason),
    run: async (items, wait) => {
      runs.push({ items, wait })
      if (wait.skipBusy) return items.map((item) => (held.has(item) ? BUSY : `did ${item}`))
      waiting += 1
      mostWaiting = Math.max(mostWaiting, waiting)
      if (items.some((item) => held.has(item))) await new Promise((resolve) => setTimeout(resolve, wait.waitMs))
      waiting -= 1
      if (items.some((item) => held.has(item))) throw new LockTimeout()
      return items.map((item) => `did ${item}`)
    },
  })
  return { held, runs, call, mostWaiting: () => mostWaiting }
}

test('items whose locks are free share one run', async () => {
  const { call, runs } = setUp()
  expect(await Promise.all(['a', 'b', 'a'].map(call))).toEqual(['did a', 'did b', 'did a'])
  expect(runs).toEqual([{ items: ['a', 'b', 'a'], wait: { waitMs: 100, skipBusy: false } }])
})

test('a busy lock delays the common run once; later items for it queue, and run together when it is free', async () => {
  const { call, held, runs } = setUp()
  held.add('a')
  const [first, other] = [call('a'), call('b')]
  await vi.advanceTimersByTimeAsync(100)
  expect(await other).toBe('did b')
  const later = [call('a'), call('a')]
  expect(await call('b')).toBe('did b')
  expect(runs.filter(({ items, wait }) => items.includes('b') && items.includes('a') && !wait.skipBusy)).toHaveLength(1)
  held.clear()
  await vi.advanceTimersByTimeAsync(250)
  expect(await Promise.all([first, ...later])).toEqual(['did a', 'did a', 'did a'])
  expect(runs.at(-1)?.items).toEqual(['a', 'a'])
})

test('an item that comes while a run waits for its lock joins the queue, and delays no further run', async () => {
  const { call, held, runs } = setUp()
  held.add('a')
  const first = call('a')
  await vi.advanceTimersByTimeAsync(10)
  const [late, other] = [call('a'), call('b')]
  await vi.advanceTimersByTimeAsync(90)
  expect(await other).toBe('did b')
  expect(runs.map(({ items }) => items).filter((items) => items.includes('b'))).toEqual([['b']])
  held.clear()
  await vi.advanceTimersByTimeAsync(250)
  expect(await Promise.all([first, late])).toEqual(['did a', 'did a'])
})

test('an item gives up after 4 s, and the next item for its lock starts its own wait', async () => {
  const { call, held } = setUp()
  held.add('a')
  const refused = expect(call('a')).rejects.toThrow('another transaction holds the lock')
  await vi.advanceTimersByTimeAsync(4_500)
  await refused
  held.clear()
  expect(await call('a')).toBe('did a')
})

test('however many locks are busy, few queues wait at once, and each gets its turn', async () => {
  const { call, held, mostWaiting } = setUp()
  const names = Array.from({ length: 10 }, (_, at) => `lock-${at}`)
  for (const name of names) held.add(name)
  const answers = names.map(call)
  await vi.advanceTimersByTimeAsync(600)
  held.delete('lock-9')
  await vi.advanceTimersByTimeAsync(1_500)
  expect(await answers[9]).toBe('did lock-9')
  // The common batch may run beside the waiting queues.
  expect(mostWaiting()).toBeLessThanOrEqual(MAX_WAITERS + 1)
  held.clear()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await Promise.all(answers)).toHaveLength(10)
})
