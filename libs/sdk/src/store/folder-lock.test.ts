import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockFolder } from './folder-lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('one process at a time holds the lock, and then frees it', () => {
  const held = lockFolder(folder)
  expect(() => lockFolder(folder)).toThrow(`process ${process.pid} already uses ${folder}`)
  held[Symbol.dispose]()
  lockFolder(folder)[Symbol.dispose]()
})

test.each([
  ['of a process that is gone', '4194304 boot 1\n'],
  // Only Linux tells when a process started.
  ...(process.platform === 'linux' ? [['of an earlier process with this id', `${process.pid} boot 1\n`] as const] : []),
  ['that is damaged', ''],
  ['that is empty', undefined],
] as const)('a lock %s is void', (_, text) => {
  mkdirSync(join(folder, 'locked'))
  if (text !== undefined) writeFileSync(join(folder, 'locked/holder'), text)
  {
    using _lock = lockFolder(folder)
    expect(readFileSync(join(folder, 'locked/holder'), 'utf8')).toContain(String(process.pid))
  }
  expect(readdirSync(folder)).toEqual([])
})

test('the error for a folder that is not writable is one sentence', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => lockFolder(join(folder, 'file/folder'))).toThrow('cannot be locked: not a directory')
})
