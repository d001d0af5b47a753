import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFileStore } from './file-store.ts'
import { createMemoryStore, type Store } from './store.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-store-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.each<[string, () => Store]>([
  ['memory', createMemoryStore],
  ['file', () => createFileStore(folder)],
  ['shared file', () => createFileStore(join(folder, 'deep/er'), { shared: true })],
])('a %s store', (_, create) => {
  test('keeps, replaces, lists and deletes values', async () => {
    const store = create()
    expect(await store.get('pin/alice')).toBeUndefined()
    await store.set('pin/alice', 'one')
    await store.set('pin/alice', 'two\nü')
    await store.set('name/Ab9', '')
    await store.set('name/aB9', 'other')
    await store.set('place', '7')
    expect([await store.get('pin/alice'), await store.get('name/Ab9')]).toEqual(['two\nü', ''])
    expect((await store.keys('')).sort()).toEqual(['name/Ab9', 'name/aB9', 'pin/alice', 'place'])
    expect((await store.keys('name/')).sort()).toEqual(['name/Ab9', 'name/aB9'])
    await store.delete('pin/alice')
    await store.delete('pin/alice')
    expect([await store.get('pin/alice'), await store.get('pin/alice/more')]).toEqual([undefined, undefined])
    expect(await store.keys('pin/')).toEqual([])
  })
})

describe('a file store', () => {
  test.each([
    '',
    '../up',
    'a/../b',
    '/root',
    'a//b',
    'a/',
    '.hidden',
    'a b',
    'locked',
    'locked.7/holder',
    'a.new',
    'a'.repeat(201),
  ])('refuses the key %j, which could leave the folder or meet a file of its own', async (key) => {
    using store = createFileStore(folder)
    await expect(store.set(key, 'x')).rejects.toThrow(TypeError)
    await expect(store.get(key)).rejects.toThrow(TypeError)
  })

  test('can be read only by its owner, and continues in a later process', async () => {
    {
      using store = createFileStore(join(folder, 'deep/er'))
      await store.set('process/messages/X', 'kept')
      expect(() => createFileStore(join(folder, 'deep/er'))).toThrow(`process ${process.pid} already uses`)
    }
    expect(readdirSync(join(folder, 'deep/er'), { recursive: true })).toEqual([
      'process',
      'process/messages',
      'process/messages/+x',
    ])
    if (process.platform !== 'win32')
      expect(statSync(join(folder, 'deep/er/process/messages/+x')).mode & 0o777).toBe(0o600)
    using store = createFileStore(join(folder, 'deep/er'))
    expect(await store.get('process/messages/X')).toBe('kept')
  })

  test('ignores what an interrupted write left, and removes it later', async () => {
    {
      using store = createFileStore(folder)
      await store.set('place', 'old')
      writeFileSync(join(folder, 'place.7.new'), 'ne')
      expect([await store.get('place'), await store.keys('')]).toEqual(['old', ['place']])
    }
    using store = createFileStore(folder)
    expect(await store.get('place')).toBe('old')
    expect(readdirSync(folder).toSorted()).toEqual(['locked', 'place'])
  })

  test('takes many writes at a time, and the last one of a key stays', async () => {
    using store = createFileStore(folder)
    await Promise.all(Array.from({ length: 20 }, (_, n) => store.set(`key-${n % 5}`, String(n))))
    const values = await Promise.all((await store.keys('key-')).map((key) => store.get(key)))
    expect(values.map((value) => Number(value) % 5).toSorted()).toEqual([0, 1, 2, 3, 4])
    await store.set('key-0', 'last')
    expect(await store.get('key-0')).toBe('last')
  })

  test('that is shared is used by several processes at the same time', async () => {
    const [one, two] = [createFileStore(folder, { shared: true }), createFileStore(folder, { shared: true })]
    expect(await one.keys('')).toEqual([])
    await one.set('pin/alice', 'one')
    await two.set('pin/alice', 'two')
    expect([await one.get('pin/alice'), await two.keys('pin/')]).toEqual(['two', ['pin/alice']])
  })

  test('is free again after its process was killed', async () => {
    const script = `
      const { createFileStore } = await import(${JSON.stringify(new URL('./file-store.ts', import.meta.url).href)})
      await createFileStore(${JSON.stringify(folder)}).set('place', '7')
      process.kill(process.pid, 'SIGKILL')`
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]).catch(() => undefined)
    using store = createFileStore(folder)
    expect(await store.get('place')).toBe('7')
  })
})
