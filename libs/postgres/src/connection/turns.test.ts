import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

/** Pieces of work that the test ends, in the order in which they began. */
function createWork(atOnce: number) {
  const inTurn = createTurns(atOnce)
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  return {
    begun,
    ask: (name: string, lock?: string): Promise<void> =>
      inTurn(() => {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        begun.push(name)
        ends.set(name, (error) => (error === undefined ? resolve() : reject(error)))
        return promise
      }, lock),
    end: async (name: string, error?: Error): Promise<void> => {
      ends.get(name)?.(error)
      await new Promise(setImmediate)
    },
  }
}

test('a limited number runs at once, and the others wait in order', async () => {
  const work = createWork(2)
  for (const name of ['a', 'b', 'c', 'd']) void work.ask(name)
  expect(work.begun).toEqual(['a', 'b'])
  await work.end('b')
  await work.end('a')
  expect(work.begun).toEqual(['a', 'b', 'c', 'd'])
})

test('one piece of work per lock runs at a time, so work that waits for a busy lock delays no other work', async () => {
  const work = createWork(2)
  for (const name of ['hot 1', 'hot 2', 'hot 3']) void work.ask(name, 'hot')
  void work.ask('other', 'cold')
  expect(work.begun).toEqual(['hot 1', 'other'])
  await work.end('other')
  expect(work.begun).toEqual(['hot 1', 'other'])
  await work.end('hot 1')
  await work.end('hot 2')
  expect(work.begun).toEqual(['hot 1', 'other', 'hot 2', 'hot 3'])
})

test('locks take turns, even if much work waits for one of them, and a failure ends the turn', async () => {
  const work = createWork(1)
  const failed = work.ask('hot 1', 'hot').catch(String)
  for (const name of ['hot 2', 'hot 3']) void work.ask(name, 'hot')
  void work.ask('b', 'b')
  void work.ask('c')
  await work.end('hot 1', new Error('lost'))
  expect(await failed).toBe('Error: lost')
  for (const name of ['hot 2', 'b', 'c']) await work.end(name)
  expect(work.begun).toEqual(['hot 1', 'hot 2', 'b', 'c', 'hot 3'])
  await work.end('hot 3')
  void work.ask('late', 'hot')
  expect(work.begun.at(-1)).toBe('late')
})
