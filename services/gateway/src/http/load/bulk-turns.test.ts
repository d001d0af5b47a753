import { expect, test } from 'vitest'
import { BulkTurns, MAX_SIGNED, MAX_UNSIGNED } from './bulk-turns.ts'

/** Bulk reads that the test ends, in the order in which they began. */
function createReads() {
  const turns = new BulkTurns()
  const begun: string[] = []
  const ends: ((error?: Error) => void)[] = []
  return {
    begun,
    ask: (client: string, isUnsigned = false, operation = 'listInbox') =>
      turns.readInTurn({ operation, client, isUnsigned }, () => {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        begun.push(client)
        ends.push((error) => (error === undefined ? resolve() : reject(error)))
        return promise
      }),
    /** Ends the oldest read. */
    end: async (error?: Error) => {
      ends.shift()?.(error)
      await new Promise(setImmediate)
    },
  }
}

test.each([
  ['registered agents', false, MAX_SIGNED],
  ['strangers', true, MAX_UNSIGNED],
])(
  'bulk reads of %s: a limited number at once, and clients take turns even if one of them asks for many',
  async (_who, isUnsigned, max) => {
    const reads = createReads()
    const asked = Array.from({ length: max + 50 }, () => reads.ask('greedy', isUnsigned))
    asked.push(reads.ask('a', isUnsigned), reads.ask('b', isUnsigned), reads.ask('a', isUnsigned))
    expect(reads.begun).toHaveLength(max)
    for (let ended = 0; ended < 6; ended += 1) await reads.end()
    expect(reads.begun.slice(max)).toEqual(['greedy', 'a', 'b', 'greedy', 'a', 'greedy'])
    for (let ended = 0; ended < asked.length; ended += 1) await reads.end()
    await Promise.all(asked)
    void reads.ask('late', isUnsigned)
    expect(reads.begun.at(-1)).toBe('late')
  },
)

test('neither unsigned requests nor another operation delay a read, and a read that fails frees its place', async () => {
  const reads = createReads()
  const asked = Array.from({ length: MAX_UNSIGNED + 1 }, () => reads.ask('stranger', true).catch(String))
  void reads.ask('agent')
  void reads.ask('stranger', true, 'listBoards')
  expect(reads.begun).toEqual([...Array(MAX_UNSIGNED).fill('stranger'), 'agent', 'stranger'])
  await reads.end(new Error('the service is away'))
  expect(await asked[0]).toBe('Error: the service is away')
  expect(reads.begun.filter((client) => client === 'stranger')).toHaveLength(MAX_UNSIGNED + 2)
})
