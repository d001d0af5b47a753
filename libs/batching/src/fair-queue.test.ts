import { describe, expect, test } from 'vitest'
import { FairQueue } from './fair-queue.ts'

/** Pieces of work that the test ends, in the order in which they began. */
function createWork(options: ConstructorParameters<typeof FairQueue>[0]) {
  const queue = new FairQueue(options)
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  return {
    begun,
    ask: (
      name: string,
      key: string | symbol = Symbol('own'),
      group: { group?: string; atOnce?: number } = {},
    ): Promise<void> =>
      queue.runInTurn({ key, ...group }, () => {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        begun.push(name)
        ends.set(name, (error) => (error === undefined ? resolve() : reject(error)))
        return promise
      }),
    end: async (name: string, error?: Error): Promise<void> => {
      ends.get(name)?.(error)
      await new Promise(setImmediate)
    },
  }
}

test('a limited number runs at once, and work of different keys waits in order', async () => {
  const work = createWork({ atOnce: 2 })
  for (const name of ['a', 'b', 'c', 'd']) void work.ask(name)
  expect(work.begun).toEqual(['a', 'b'])
  await work.end('b')
  await work.end('a')
  expect(work.begun).toEqual(['a', 'b', 'c', 'd'])
})

test('keys take turns, even if much work waits for one of them', async () => {
  const work = createWork({ atOnce: 2 })
  for (const name of ['greedy 1', 'greedy 2', 'greedy 3', 'greedy 4', 'greedy 5']) void work.ask(name, 'greedy')
  void work.ask('a 1', 'a')
  void work.ask('b 1', 'b')
  void work.ask('a 2', 'a')
  for (let ended = 0; ended < 6; ended += 1) await work.end(work.begun[ended] ?? '')
  expect(work.begun).toEqual(['greedy 1', 'greedy 2', 'greedy 3', 'a 1', 'b 1', 'greedy 4', 'a 2', 'greedy 5'])
})

test('a failure ends the turn', async () => {
  const work = createWork({ atOnce: 1 })
  const failed = work.ask('first').catch(String)
  void work.ask('second')
  await work.end('first', new Error('lost'))
  expect(await failed).toBe('Error: lost')
  await work.end('second')
  void work.ask('late')
  expect(work.begun).toEqual(['first', 'second', 'late'])
})

test('groups do not wait for each other, and each has its own limit', async () => {
  const work = createWork({ atOnce: 2 })
  for (const at of [1, 2, 3]) void work.ask(`small ${at}`, 'key', { group: 'small', atOnce: 1 })
  for (const at of [1, 2, 3]) void work.ask(`large ${at}`, 'key', { group: 'large' })
  expect(work.begun).toEqual(['small 1', 'large 1', 'large 2'])
  await work.end('large 1')
  expect(work.begun.slice(3)).toEqual(['large 3'])
})

describe('one of each key', () => {
  test('work that waits for its key delays no other work', async () => {
    const work = createWork({ atOnce: 2, oneOfKey: true })
    for (const name of ['hot 1', 'hot 2', 'hot 3']) void work.ask(name, 'hot')
    void work.ask('other', 'cold')
    expect(work.begun).toEqual(['hot 1', 'other'])
    await work.end('other')
    expect(work.begun).toEqual(['hot 1', 'other'])
    await work.end('hot 1')
    await work.end('hot 2')
    expect(work.begun).toEqual(['hot 1', 'other', 'hot 2', 'hot 3'])
  })

  test('keys take turns', async () => {
    const work = createWork({ atOnce: 1, oneOfKey: true })
    for (const name of ['hot 1', 'hot 2', 'hot 3']) void work.ask(name, 'hot')
    void work.ask('b', 'b')
    void work.ask('c')
    for (const name of ['hot 1', 'hot 2', 'b', 'c']) await work.end(name)
    expect(work.begun).toEqual(['hot 1', 'hot 2', 'b', 'c', 'hot 3'])
  })
})

test('past the bound, the newest work of the key with most waiting work is refused: in any group, or the caller’s own', async () => {
  const work = createWork({ atOnce: 1, maxWaiting: 3, overloaded: () => new Error('full') })
  for (const name of ['greedy 1', 'greedy 2', 'greedy 3']) void work.ask(name, 'greedy')
  const last = work.ask('greedy 4', 'greedy')
  await expect(work.ask('greedy 5', 'greedy')).rejects.toThrow('full')
  void work.ask('a 1', 'a', { group: 'other' })
  void work.ask('a 2', 'a', { group: 'other' })
  await expect(last).rejects.toThrow('full')
  await work.end('greedy 1')
  await work.end('a 1')
  expect(work.begun).toEqual(['greedy 1', 'a 1', 'greedy 2', 'a 2'])
})
