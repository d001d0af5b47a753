import { existsSync, readFileSync } from 'node:fs'
import { NATS_USERS } from '@svc/local/topology.ts'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
const PAGE = readFileSync(new URL('docs/operating/secure.md', ROOT), 'utf8')

/** Every `[label](../../path): “name”` of the page. */
const CITED = [...PAGE.matchAll(/\[[^\]]+\]\(\.\.\/\.\.\/([^)]+)\): “([^”]*)”/g)].map(([, file = '', name = '']) => ({
  file,
  name,
}))

test('every defence of docs/operating/secure.md names its tests', () => {
  const [, defences = ''] = PAGE.split('\n## Attacks and defences\n')
  const [tables = ''] = defences.split('\n## ')
  const rows = tables.split('\n').filter((line) => /^\|(?! *(attack|-))/.test(line))
  expect(rows.length).toBeGreaterThan(35)
  for (const row of rows) expect(row, row.slice(0, 60)).toMatch(/\.test\.ts\): “[^”]+”/)
})

test('every login of NATS names the tests of a hostile program that holds it', () => {
  const [, logins = ''] = PAGE.split('\n### Logins of NATS\n')
  const rows = (logins.split('\n### ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'))
  const named = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, login]) => login))
  expect(named.toSorted()).toEqual([...NATS_USERS].toSorted())
  for (const row of rows) expect(row).toMatch(/logins\.test\.ts\): “[^”]+”/)
})

test.each(CITED)('$file has “$name”', ({ file, name }) => {
  expect(existsSync(new URL(file, ROOT))).toBe(true)
  expect(name.length).toBeGreaterThan(8)
  // The name as in the source, with or without escaped quotes.
  const source = readFileSync(new URL(file, ROOT), 'utf8').replaceAll("\\'", "'")
  expect(source.includes(name), `${file} has no test named “${name}”`).toBe(true)
})

test('every test that the page links to is named, in quotes', () => {
  const links = [...PAGE.matchAll(/\]\(\.\.\/\.\.\/[^)]+\.test\.ts\)/g)]
  expect(links).toHaveLength(CITED.length)
})
