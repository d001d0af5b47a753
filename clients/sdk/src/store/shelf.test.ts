import { expect, test } from 'vitest'
import { Shelf } from './shelf.ts'
import { createMemoryStore, type Store } from './store.ts'

interface Note {
  readonly atMs: number
  readonly text: string
}
const DAY_MS = 86_400_000
const open = (store: Store): Promise<Shelf<Note>> => Shelf.open<Note>(store, 'notes/', DAY_MS)

test('records are there again, the oldest first, and old ones are deleted with the next write', async () => {
  const store = createMemoryStore()
  const shelf = await open(store)
  const nowMs = Date.now()
  await shelf.put('b', { atMs: nowMs, text: 'new' })
  await store.set('notes/a', JSON.stringify({ atMs: nowMs - 2 * DAY_MS, text: 'old' }))
  const again = await open(store)
  expect(again.entries.map(([name]) => name)).toEqual(['a', 'b'])
  await again.put('c', { atMs: nowMs, text: 'newer' })
  expect((await open(store)).entries.map(([name]) => name).toSorted()).toEqual(['b', 'c'])
})

test('a change that cannot be stored leaves the earlier record, and a copy does not change it', async () => {
  const store = createMemoryStore()
  const shelf = await open(store)
  await shelf.put('a', { atMs: Date.now(), text: 'first' })
  const full: Store = { ...store, set: () => Promise.reject(new Error('the disk is full')) }
  const failing = await open(full)
  await expect(failing.put('a', { atMs: Date.now(), text: 'second' })).rejects.toThrow('full')
  Object.assign(failing.get('a') ?? {}, { text: 'third' })
  expect(failing.get('a')?.text).toBe('first')
})

test('changes of one record are made one after the other', async () => {
  const shelf = await open(createMemoryStore())
  const add = (before: Note = { atMs: Date.now(), text: '' }): Note => ({ ...before, text: `${before.text}x` })
  await Promise.all(Array.from({ length: 20 }, () => shelf.change('a', add)))
  expect(shelf.get('a')?.text).toBe('x'.repeat(20))
})
