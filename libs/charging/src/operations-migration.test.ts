import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { operationsMigration } from './operations-migration.ts'

const SERVICES = new URL('../../../services/', import.meta.url)

const copies = readdirSync(SERVICES).flatMap((service) => {
  const folder = new URL(`${service}/migrations/`, SERVICES)
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => name.endsWith('_operations-1.sql'))
  return names.map((name) => ({ service, text: readFileSync(new URL(name, folder), 'utf8') }))
})

test('the owners that have operations of their own keep a copy of the one source', () => {
  expect(copies.map(({ service }) => service)).toEqual(expect.arrayContaining(['identity', 'messaging']))
  for (const { service, text } of copies) expect(text).toBe(operationsMigration(service))
})

test('a schema is a plain name', () => {
  for (const schema of ['', 'a b', 'x;', 'Identity']) expect(() => operationsMigration(schema)).toThrow(RangeError)
})
