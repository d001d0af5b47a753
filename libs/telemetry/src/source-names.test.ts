import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { nameSources } from './source-names.ts'

test('a stack trace names the sources of a module that has a map', () => {
  const folder = mkdtempSync(join(tmpdir(), 'maps-'))
  const map = { version: 3, sources: ['../services/some.ts'], names: [], mappings: 'AAEE' }
  writeFileSync(join(folder, 'some.js.map'), JSON.stringify(map))
  const stackIn = (place: string): string => `Error: of a test\n    at work (${place})\n    at node:internal/timers:1:2`
  const moduleIn = (name: string): string => `${pathToFileURL(join(folder, name)).href}:1:1`
  expect(nameSources(stackIn(moduleIn('some.js')))).toBe(stackIn(`${join(folder, '../services/some.ts')}:3:3`))
  expect(nameSources(stackIn(moduleIn('other.js')))).toBe(stackIn(moduleIn('other.js')))
  rmSync(folder, { recursive: true })
})
