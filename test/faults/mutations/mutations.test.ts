/** Checks that every mutation still applies. `npx pnpm faults:mutations` applies them and checks that each is caught. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MUTATIONS } from './mutations.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

test('there are at least ten mutations', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(10)
})

test.each(MUTATIONS)('$name applies to the product as it is', ({ edits }) => {
  for (const { file, find, replace } of edits) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    expect(text.split(find).length - 1, `how often ${file} has: ${find}`).toBe(1)
    expect(replace).not.toBe(find)
  }
})
