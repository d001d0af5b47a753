import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findTestRun } from '@svc/test/support/engines/engines.ts'
import { expect, test } from 'vitest'

const FIRST_SCREEN_BYTES = 80 * 1024

const folder = join((await findTestRun()).build, 'clients/console/built')
const served = readdirSync(folder).filter((name) => !/\.(?:br|gz)$/.test(name))
const page = readFileSync(join(folder, 'index.html'), 'utf8')

test('the first screen is at most 80 KB, compressed', () => {
  const first = ['index.html', ...[...page.matchAll(/"\/console\/([^"]+)"/g)].map(([, name = '']) => name)]
  const bytes = first.reduce((sum, name) => sum + statSync(join(folder, `${name}.gz`)).size, 0)
  expect(bytes).toBeLessThan(FIRST_SCREEN_BYTES)
  // The code of the console is among them, and code that only some pages need is not.
  expect(bytes).toBeGreaterThan(30_000)
  expect(served.length).toBeGreaterThan(first.length)
})

test('nothing is served that only developers need, and the page has no inline script', () => {
  expect(served.filter((name) => name.endsWith('.map'))).toEqual([])
  for (const name of served) expect(readFileSync(join(folder, name), 'utf8'), name).not.toContain('sourceMappingURL')
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|\son\w+=|javascript:|<style/i)
})
