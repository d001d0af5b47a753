import { afterEach, describe, expect, test, vi } from 'vitest'
import { createBatcher } from './batcher.ts'

/** A run that records its batches and waits until it is released. */
function gatedRun() {
  const batches: number[][] = []
  const gates: PromiseWithResolvers<void>[] = []
  const run = async (items: number[]) => {
    batches.push(items)
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    await gate.promise
    return items.map((item) => (item < 0 ? new Error(`refused ${item}`) : item * 2))
  }
  return { batches, gates, run }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

afterEach(() => vi.useRealTimers())

describe('a batcher', () => {
  test('the first call runs at once, and later calls share a run', async () => {
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run })
    const first = call(1)
    await turn()
    const rest = [call(2), call(3), call(4)]
    await turn()
    expect(batches).toEqual([[1]])
    gates[0]?.resolve()
    expect(await first).toBe(2)
    await turn()
    expect(batches).toEqual([[1], [2, 3, 4]])
    gates[1]?.resolve()
    expect(await Promise.all(rest)).toEqual([4, 6, 8])
  })

  test('calls of one turn share a run', async () => {
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run })
    const all = Promise.all([call(1), call(2)])
    await turn()
    gates[0]?.resolve()
    expect(await all).toEqual([2, 4])
    expect(batches).toEqual([[1, 2]])
  })

  test('the failure of one item affects only that item', async () => {
    const { gates, run } = gatedRun()
    const call = createBatcher({ run })
    const all = Promise.allSettled([call(1), call(-1), call(3)])
    await turn()
    gates[0]?.resolve()
    expect((await all).map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('a run that throws fails only its own items, and the next run follows', async () => {
    let runs = 0
    const call = createBatcher<number, number>({
      run: async (items) => {
        runs += 1
        if (runs === 1) throw new Error('lost')
        return items
      },
    })
    await expect(call(1)).rejects.toThrow('lost')
    expect(await call(2)).toBe(2)
  })

  test('a run has at most maxItems items', async () => {
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run, maxItems: 2 })
    const all = Promise.all([1, 2, 3].map(call))
    await turn()
    gates[0]?.resolve()
    await turn()
    gates[1]?.resolve()
    await all
    expect(batches).toEqual([[1, 2], [3]])
  })

  test('items of one key never share a run and keep their order', async () => {
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run, keyOf: (item: number) => String(item % 10) })
    const all = Promise.all([1, 11, 2, 21].map(call))
    for (let index = 0; index < 3; index += 1) {
      await turn()
      gates[index]?.resolve()
    }
    await all
    expect(batches).toEqual([[1, 2], [11], [21]])
  })

  test('an item with several keys waits for each of them, and no later item overtakes it', async () => {
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run, keyOf: (item: number) => String(item).split('') })
    const all = Promise.all([1, 12, 2, 3].map(call))
    for (let index = 0; index < 3; index += 1) {
      await turn()
      gates[index]?.resolve()
    }
    await all
    expect(batches).toEqual([[1, 3], [12], [2]])
  })

  test('up to `concurrency` runs at once', async () => {
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run, concurrency: 2, maxItems: 1 })
    const all = Promise.all([1, 2, 3].map(call))
    await turn()
    expect(batches).toEqual([[1], [2]])
    gates[0]?.resolve()
    await turn()
    expect(batches).toEqual([[1], [2], [3]])
    for (const gate of gates) gate.resolve()
    await all
  })

  test('the queue is bounded: past maxWaiting a call is refused', async () => {
    const { gates, run } = gatedRun()
    const call = createBatcher({ run, maxWaiting: 1, overloaded: () => new Error('full') })
    const first = call(1)
    await turn()
    const second = call(2)
    await expect(call(3)).rejects.toThrow('full')
    gates[0]?.resolve()
    await turn()
    gates[1]?.resolve()
    expect(await Promise.all([first, second])).toEqual([2, 4])
  })

  test.each([
    { brings: [1, 2, 0], leaves: [[1, 2, 3]], why: 'a tick of the event loop without new items starts the run' },
    { brings: [1, 0, 2], leaves: [[1]], why: 'items that arrive after that turn wait for the next run' },
    {
      brings: [1, 1, 1, 1, 1],
      leaves: [[1, 2, 3, 4]],
      why: 'the run starts after the maximum number of turns, even if each turn brought items',
    },
    { brings: [5, 1, 1], leaves: [[1, 2, 3, 4, 5]], why: 'a full run starts at once' },
  ])('calls of several ticks of the event loop share a run: $why', async ({ brings, leaves }) => {
    const { batches, run } = gatedRun()
    const call = createBatcher({ run, gathers: true, maxItems: 5 })
    let made = 0
    for (const count of brings) {
      for (let i = 0; i < count; i += 1) {
        made += 1
        void call(made)
      }
      await turn()
    }
    for (let i = 0; i < 5; i += 1) await turn()
    expect(batches).toEqual(leaves)
  })

  test('with lingerMs, a run waits that long after its first item, also if the previous run ends earlier', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run, lingerMs: 100 })
    void call(1)
    await vi.advanceTimersByTimeAsync(99)
    void call(2)
    expect(batches).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(batches).toEqual([[1, 2]])
    void call(3)
    gates[0]?.resolve()
    await vi.advanceTimersByTimeAsync(99)
    expect(batches).toEqual([[1, 2]])
    await vi.advanceTimersByTimeAsync(1)
    expect(batches).toEqual([[1, 2], [3]])
  })

  test('with lingerMs, a full run starts at once, and the rest waits', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { batches, gates, run } = gatedRun()
    const call = createBatcher({ run, lingerMs: 100, maxItems: 2 })
    for (const item of [1, 2, 3]) void call(item)
    await turn()
    expect(batches).toEqual([[1, 2]])
    gates[0]?.resolve()
    await vi.advanceTimersByTimeAsync(99)
    expect(batches).toEqual([[1, 2]])
    await vi.advanceTimersByTimeAsync(1)
    expect(batches).toEqual([[1, 2], [3]])
  })
})
