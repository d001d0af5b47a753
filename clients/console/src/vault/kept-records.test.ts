import { expect, test } from 'vitest'
import type { SealedRecord } from './cipher.ts'
import { whyAbsent } from './database.ts'
import { FakeDatabase } from './fake-database.ts'
import { newMasterKey, type VaultHeader, wrapMasterKey } from './header.ts'
import { KeptRecords, type StorageTrouble } from './kept-records.ts'
import { Unwritten } from './unwritten.ts'

const header = await headerOf('mine')
const record = (byte: number): SealedRecord => ({ iv: Uint8Array.of(1), data: Uint8Array.of(byte) })
const put = (place: string, byte = 0) => ({ place, record: record(byte) })

function headerOf(vaultId: string): Promise<VaultHeader> {
  return wrapMasterKey(newMasterKey(), vaultId, 'correct horse', async () => new Uint8Array(32))
}

function open(database = new FakeDatabase(header)) {
  const seen = { trouble: undefined as StorageTrouble | undefined, wipes: 0, deleted: [] as string[] }
  const session = new Map<string, string>()
  const storage = {
    getItem: (key: string) => session.get(key) ?? null,
    setItem: (key: string, value: string) => void session.set(key, value),
    removeItem: (key: string) => void session.delete(key),
  }
  const records = new KeptRecords({
    vaultId: 'mine',
    database,
    unwritten: new Unwritten('mine', storage),
    onTrouble: (trouble) => {
      seen.trouble = trouble
    },
    onWiped: () => {
      seen.wipes += 1
    },
    onDeleted: (prefix) => seen.deleted.push(prefix),
  })
  return { database, records, seen, storage }
}

test.each([
  ['it is there', 'mine', [], undefined],
  ['a person wiped it', undefined, ['mine'], 'wiped'],
  ['a person wiped it and made another', 'other', ['mine'], 'wiped'],
  ['a person wiped another one before', undefined, ['other'], 'cleared'],
  ['the browser deleted it', undefined, [], 'cleared'],
  ['the browser deleted it, and a person made another', 'other', [], 'replaced'],
] as const)('why a vault is absent: %s', (_, present, wiped, expected) => {
  expect(whyAbsent('mine', present, wiped)).toBe(expected)
})

test.each([
  ['storage_full', 'full'],
  ['storage_failed', 'failed'],
  ['newer_console', 'newer'],
] as const)('%s: the call fails, says why, and what was typed is stored once that ends', async (code, kind) => {
  const { database, records, seen, storage } = open()
  await records.write([put('a/1', 1)])
  database.failure = code
  await expect(records.write([put('a/1', 2)])).rejects.toMatchObject({ code })
  await expect(records.write([put('a/2', 3)])).rejects.toMatchObject({ code })
  expect(seen.trouble).toEqual({ kind, outlivesReload: true })
  database.failure = undefined
  // After a reload, a new object reads the session storage.
  expect(new Unwritten('mine', storage).all).toEqual([put('a/1', 2), put('a/2', 3)])
  await records.write([put('a/3', 4)])
  expect(seen.trouble).toBeUndefined()
  expect([...database.records]).toEqual([
    ['a/1', record(2)],
    ['a/2', record(3)],
    ['a/3', record(4)],
  ])
  expect(new Unwritten('mine', storage).all).toEqual([])
})

test('a deletion makes room, so it does not wait for what could not be stored', async () => {
  const { database, records, seen } = open()
  await records.write([put('a/1'), put('b/1')])
  database.failure = 'storage_full'
  await expect(records.write([put('b/2', 5)])).rejects.toMatchObject({ code: 'storage_full' })
  database.failure = undefined
  await records.write([{ place: 'a/' }])
  expect([...database.records.keys()]).toEqual(['b/1'])
  expect(seen.trouble?.kind).toBe('full')
  await records.writeWaiting()
  expect([...database.records.keys()]).toEqual(['b/1', 'b/2'])
  expect(seen.trouble).toBeUndefined()
})

test('if the browser deletes the vault, the records are still read, and are stored again with what was typed since', async () => {
  const { database, records, seen } = open()
  await records.write([put('a/1', 1), put('a/2', 2), put('b/1', 3)])
  await records.write([{ place: 'a/2' }])
  database.lose()
  await expect(records.write([put('a/3', 4)])).rejects.toMatchObject({ code: 'cleared' })
  expect(seen.trouble).toEqual({ kind: 'cleared', outlivesReload: false })
  expect(await records.read('a/1')).toEqual(record(1))
  expect((await records.list('a/')).map(({ place }) => place)).toEqual(['a/1', 'a/3'])
  expect(database.records.size).toBe(0)
  await records.storeAgain(header)
  expect(seen.trouble).toBeUndefined()
  expect(database.header).toBe(header)
  expect([...database.records.keys()].sort()).toEqual(['a/1', 'a/3', 'b/1'])
  await records.write([put('a/4')])
})

test('of two tabs that store again, the second adds only what the first did not have', async () => {
  const database = new FakeDatabase(header)
  const [first, second] = [open(database), open(database)]
  await first.records.write([put('a/1', 1)])
  await second.records.read('a/1')
  await second.records.write([put('b/1', 2)])
  database.lose()
  await second.records.check()
  await first.records.check()
  await first.records.storeAgain(header)
  await first.records.write([put('a/1', 9)])
  await second.records.storeAgain(header)
  expect([...database.records]).toEqual([
    ['a/1', record(9)],
    ['b/1', record(2)],
  ])
})

test('what another tab has deleted is not stored again', async () => {
  const { database, records, seen } = open()
  await records.write([put('a/1'), put('a/2'), put('b/1')])
  database.lose()
  await records.check()
  records.forget('a/')
  await records.storeAgain(header)
  expect([...database.records.keys()]).toEqual(['b/1'])
  expect(seen.deleted).toEqual([])
  await records.write([{ place: 'b/1' }])
  expect(seen.deleted).toEqual(['b/1'])
})

test.each([
  ['wiped the vault', undefined],
  ['wiped the vault and made another', await headerOf('other')],
] as const)('a person who %s in another tab is obeyed: nothing is stored again', async (_, next) => {
  const { database, records, seen } = open()
  await records.write([put('a/1')])
  // The browser had deleted it before, and this tab has not heard of the wipe.
  database.lose()
  await records.check()
  await database.clear('mine')
  database.header = next
  await expect(records.storeAgain(header)).rejects.toMatchObject({ code: 'locked' })
  expect(seen.wipes).toBe(1)
  expect(database.records.size).toBe(0)
  expect(database.header).toBe(next)
})

test('a vault that was made since is not overwritten', async () => {
  const { database, records, seen } = open()
  await records.write([put('a/1')])
  database.lose()
  const other = await headerOf('other')
  database.header = other
  await records.check()
  expect(seen.trouble).toEqual({ kind: 'replaced', outlivesReload: false })
  await expect(records.storeAgain(header)).rejects.toMatchObject({ code: 'replaced' })
  expect(database.header).toBe(other)
  expect(await records.read('a/1')).toEqual(record(0))
})
