import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase, type TestDatabase } from '@svc/test/support/engines/database.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '../src/database.ts'
import { textList } from '../src/text-list.ts'

let testDatabase: TestDatabase
let database: Database

beforeAll(async () => {
  testDatabase = await createTestDatabase(['stream'])
  const logger = createLogger('test', 'silent')
  database = openDatabase({ url: testDatabase.urlFor('stream'), application: 'test', logger, poolSize: 1 })
})
afterAll(async () => {
  await database?.[Symbol.asyncDispose]()
  await testDatabase?.[Symbol.asyncDispose]()
})

const listOf = (items: readonly string[]) =>
  database.run(async (sql) => (await sql<{ list: string[] }[]>`select ${textList(sql, items)} as list`)[0]?.list)

test('property: the server gets the same texts, in order', async () => {
  // Characters with a meaning in array text, JSON or SQL, among others. Not the separator, and none that Postgres cannot store.
  const characters = fc
    .oneof(fc.constantFrom(...'{}",\\\'\n\r\t \u0001\u001f', 'NULL', 'é', '😀'), fc.string({ unit: 'grapheme' }))
    .filter((text) => !text.includes('\u001e') && !text.includes('\0'))
  const texts = fc.array(characters, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))
  const items = fc.array(
    texts.filter((text) => text !== ''),
    { maxLength: 10 },
  )
  await fc.assert(
    fc.asyncProperty(items, async (list) => {
      expect(await listOf(list)).toEqual(list)
    }),
  )
})

test('property: an envelope in any spelling', async () => {
  const spaces = fc.constantFrom(undefined, 1, '\t', '\n', '\r\n')
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), spaces, async (value, space) => {
      // Postgres cannot store a NUL, but the escape that JSON writes for it is not a NUL.
      const text = JSON.stringify(value, null, space)
      expect(await listOf([text, text])).toEqual([text, text])
    }),
  )
})

test('a text that would be split, or that is empty, is refused', async () => {
  expect(await listOf([])).toEqual([])
  for (const items of [[''], ['a', ''], ['a\u001eb']]) await expect(listOf(items)).rejects.toThrow(RangeError)
})
