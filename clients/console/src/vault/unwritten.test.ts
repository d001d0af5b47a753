import { expect, test } from 'vitest'
import type { Change } from './database.ts'
import { Unwritten } from './unwritten.ts'

const recordOf = (byte: number): Required<Pick<Change, 'record'>>['record'] => ({
  iv: Uint8Array.of(1, 2),
  data: Uint8Array.of(byte, 255, 0),
})
const put = (place: string, byte = 0): Change => ({ place, record: recordOf(byte) })

/** @param room for this many characters. */
function createStorage(room = Number.POSITIVE_INFINITY): Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> & {
  readonly values: Map<string, string>
} {
  const values = new Map<string, string>()
  return {
    values,
    getItem: (key) => values.get(key) ?? null,
    setItem(key, value) {
      if (value.length > room) throw new DOMException('no room', 'QuotaExceededError')
      values.set(key, value)
    },
    removeItem: (key) => void values.delete(key),
  }
}

test.each([
  ['two records', [put('a/1', 1), put('a/2', 2)], ['a/1', 'a/2']],
  ['a record that was written twice: the last one', [put('a/1', 1), put('a/2'), put('a/1', 2)], ['a/2', 'a/1']],
  ['a deletion', [put('a/1', 1), { place: 'a/1' }], ['a/1']],
  ['the deletion of a list', [put('a/1'), put('a/2'), put('b/1'), { place: 'a/' }], ['b/1', 'a/']],
] as [string, Change[], string[]][])('%s outlives a reload', (_, changes, places) => {
  const storage = createStorage()
  const unwritten = new Unwritten('vault', storage)
  for (const change of changes) unwritten.add([change])
  const after = new Unwritten('vault', storage)
  expect(after.all).toEqual(unwritten.all)
  expect(after.all.map(({ place }) => place)).toEqual(places)
})

test('what another vault left is not read, and is removed', () => {
  const storage = createStorage()
  new Unwritten('first', storage).add([put('a/1')])
  expect(new Unwritten('second', storage).all).toEqual([])
  expect(storage.values.size).toBe(0)
})

test.each([['{'], ['{"vaultId":"vault"}'], ['{"vaultId":"vault","changes":[{"place":"a","iv":"%","data":"%"}]}']])(
  'what somebody else wrote is ignored: %s',
  (text) => {
    const storage = createStorage()
    storage.setItem('unwritten', text)
    expect(new Unwritten('vault', storage).all).toEqual([])
  },
)

test('what was stored is removed, but not what came after it at the same place', () => {
  const storage = createStorage()
  const unwritten = new Unwritten('vault', storage)
  const [first, second] = [put('a/1', 1), put('a/2', 2)]
  unwritten.add([first, second])
  const later = put('a/1', 3)
  unwritten.add([later])
  unwritten.settle([first, second])
  expect(unwritten.all).toEqual([later])
  unwritten.supersede([put('a/1', 4)])
  expect(storage.values.size).toBe(0)
})

test('without room in the session storage it says so, and keeps everything in memory', () => {
  const unwritten = new Unwritten('vault', createStorage(10))
  expect(unwritten.outlivesReload).toBe(true)
  unwritten.add([put('a/1')])
  expect(unwritten.outlivesReload).toBe(false)
  expect(unwritten.all).toHaveLength(1)
  unwritten.supersede([{ place: 'a/' }])
  expect(unwritten.outlivesReload).toBe(true)
})

test('what the service has too does not take up the session storage', () => {
  const storage = createStorage()
  const unwritten = new Unwritten('vault', storage)
  unwritten.add([{ ...put('history/1'), isReplaceable: true }])
  expect(storage.values.size).toBe(0)
  expect(unwritten.all).toHaveLength(1)
})
