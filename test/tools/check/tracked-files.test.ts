import { expect, test } from 'vitest'
import { findMisplacedFiles } from './tracked-files.ts'

test.each([
  ['a log', 'libs/nats/debug.log', ''],
  ['a key', 'alice.key', ''],
  ['the local data', '.data/secret', ''],
  ['a private key', 'docs/a.md', ['-----BEGIN', 'PRIVATE KEY-----'].join(' ')],
  ["root's folder", 'docs/a.md', ['see ', 'root', 'work'].join('/')],
  ["somebody's folder", 'docs/a.md', ['see ', 'home', 'alice', 'work'].join('/')],
])('%s must not be committed', (_, path, text) => {
  expect(findMisplacedFiles([{ path, text }])).toHaveLength(1)
})

test("a test's own key may be committed", () => {
  const text = ['-----BEGIN', 'PRIVATE KEY-----'].join(' ')
  expect(findMisplacedFiles([{ path: 'clients/cli/test/key-file.test.ts', text }])).toEqual([])
})

test('similar files may be committed', () => {
  const text = 'GET /v2/home/x, https://example.org/home/x, ~/.svc/alice, a clone under /root'
  expect(findMisplacedFiles([{ path: 'docs/keys.md', text }])).toEqual([])
})
