import { expect, test } from 'vitest'
import { findMissingTests } from './links.ts'

test.each([
  ['`npx pnpm exec vitest run libs/a`', []],
  ['`vitest run libs/a/one.test.ts libs/b` and `vitest run --maxWorkers=1 libs/c`', ['libs/b', 'libs/c']],
  ["`vitest run <path> -t '<part of its name>'`", []],
])('commands in Markdown name tests that exist: %s', (text, missing) => {
  const files = [
    { path: 'docs/page.md', text },
    { path: 'libs/a/one.test.ts', text: '' },
    { path: 'libs/b/two.ts', text: '' },
  ]
  expect(findMissingTests(files)).toEqual(missing.map((name) => `docs/page.md: no test file has the path ${name}`))
})
