import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const SOURCES = new URL('../src/', import.meta.url)
/** Files that only Node can run, by their name or purpose. */
const NODE_ONLY = ['assert-verifier.ts', 'engine.ts', 'verify-node.ts']
const files = readdirSync(SOURCES).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('.d.ts'),
)

test.each(files.filter((name) => !NODE_ONLY.includes(name)))('%s runs in browsers: it uses nothing of Node', (name) => {
  const source = readFileSync(new URL(name, SOURCES), 'utf8')
  expect(source).not.toMatch(/from 'node:|import\('node:|\bprocess\.|\bBuffer\.|require\(|sodium-native/)
  for (const nodeOnly of NODE_ONLY) expect(source).not.toContain(`'./${nodeOnly}'`)
})

test('the Node-only files exist', () => {
  expect(files).toEqual(expect.arrayContaining(NODE_ONLY))
})
