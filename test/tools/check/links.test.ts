import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBrokenLinks } from './links.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'links-'))
  mkdirSync(join(folder, 'docs'))
  writeFileSync(join(folder, 'docs', 'page.md'), '# A page\n\n## Its part\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function findIn(...links: string[]): Promise<string> {
  const table = `| a |\n| --- |\n| [x](${links[0]}) |`
  writeFileSync(join(folder, 'README.md'), ['# Top', ...links.map((link) => `[x](${link})`), table].join('\n\n'))
  return findBrokenLinks(folder, ['README.md', 'docs/page.md'])
}

test('links to files, headings and other hosts are fine', async () => {
  expect(await findIn('docs/page.md', 'docs/page.md#its-part', '#top', 'https://example.invalid/page.md')).toBe('')
})

test('a link to a missing file or heading is found, in text and in tables', async () => {
  const found = await findIn('docs/page.md#missing-part', 'docs/missing.md', '#missing-here')
  expect(found.match(/missing-part/g)).toHaveLength(2)
  expect(found).toContain('docs/missing.md')
  expect(found).toContain('missing-here')
})
