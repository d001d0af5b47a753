import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameOfBackup, removeOld, removeUnfinished } from './kept-backups.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kept-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function make(...names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'manifest.json'), '{}')
  }
}

const day = (date: number): string => nameOfBackup(new Date(Date.UTC(2026, 10, date, 2, 7, 1)))

test('a backup is named after its time, without characters that a file system refuses', () => {
  expect(day(27)).toBe('2026-11-27T02-07-01Z')
})

test('the newest backups stay, and so does every folder with another name', () => {
  make(day(3), day(1), day(2), 'before-the-upgrade', 'lost+found')
  expect(removeOld(folder, 2)).toEqual([day(1)])
  expect(readdirSync(folder).toSorted()).toEqual([day(2), day(3), 'before-the-upgrade', 'lost+found'])
  expect(removeOld(folder, 2)).toEqual([])
})

test('what interrupted backups and removals have left goes, and nothing else', () => {
  make(day(1), `${day(2)}.unfinished`, 'mine.unfinished')
  removeUnfinished(folder)
  expect(readdirSync(folder).toSorted()).toEqual([day(1), 'mine.unfinished'])
})
