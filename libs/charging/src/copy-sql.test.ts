import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sqlForOwner } from './copy-sql.ts'

const SERVICES = new URL('../../../services/', import.meta.url)

const owners = readdirSync(SERVICES).flatMap((service) => {
  const folder = new URL(`${service}/database/tables/`, SERVICES)
  if (!existsSync(folder)) return []
  const file = readdirSync(folder).find((name) => name.endsWith('_operations-1.sql'))
  return file === undefined ? [] : [{ service, number: file.slice(0, 4) }]
})

describe('every owner that records operations has an unchanged copy of the SQL', () => {
  test('at least one owner has a copy', () => {
    expect(owners.map(({ service }) => service)).toEqual(expect.arrayContaining(['identity', 'messaging']))
  })

  test.each(owners)('$service', ({ service, number }) => {
    for (const [path, text] of sqlForOwner(service, number)) {
      expect(readFileSync(new URL(`${service}/database/${path}`, SERVICES), 'utf8')).toBe(text)
    }
  })
})

test('a schema is a plain name, and a file has a number of four digits', () => {
  for (const schema of ['', 'a b', 'x;', 'Identity']) expect(() => sqlForOwner(schema, '0003')).toThrow(RangeError)
  for (const number of ['', '3', '00003', '../0']) expect(() => sqlForOwner('identity', number)).toThrow(RangeError)
})
