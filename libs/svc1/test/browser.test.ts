import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const SOURCES = new URL('../src/', import.meta.url)
/** All folders except `node/`, which only Node can run. */
const files = readdirSync(SOURCES).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('.d.ts'),
)

test.each(files)('%s runs in browsers: it imports nothing of Node', (name) => {
  const source = readFileSync(new URL(name, SOURCES), 'utf8')
  expect(source).not.toMatch(/from 'node:|import\('node:|\bprocess\.|\bBuffer\.|require\(|sodium-native|'\.\/node\//)
})
